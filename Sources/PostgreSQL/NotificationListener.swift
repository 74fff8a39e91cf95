package import Networking

/// Listens for NOTIFY on a connection of its own and keeps it open.
///
/// A notification only wakes: some are lost while the connection is, so what it speaks of has to be looked up anyway.
package actor NotificationListener {
    private nonisolated let loop: EventLoop
    private let options: DatabaseOptions
    private let channels: [String]
    private let wake: @Sendable (DatabaseNotification?) -> Void
    private var connection: DatabaseConnection?
    private var failureCount = 0
    private var order = ServerOrder()
    private var retry: TimerID?
    private var state = State.new

    private enum State { case new, running, stopped }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// `channels`: lower-case letters, digits and "_". `wake` is called on the loop for every notification, and with nil whenever listening
    /// (re)started, because something may have been missed before.
    package init(
        loop: EventLoop, options: DatabaseOptions, channels: [String], wake: @escaping @Sendable (DatabaseNotification?) -> Void
    ) {
        precondition(!channels.isEmpty && channels.allSatisfy(Self.isPlainName), "a channel is a plain lower-case name")
        self.loop = loop
        self.options = options
        self.channels = channels
        self.wake = wake
    }

    package func start() {
        guard state == .new else { return }
        state = .running
        connect()
    }

    package func stop() {
        state = .stopped
        if let retry { loop.cancel(retry) }
        retry = nil
        connection?.assumeIsolated { $0.close() }
    }

    private static func isPlainName(_ name: String) -> Bool {
        (1...63).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }

    private func connect() {
        Task {
            do {
                try await listen()
            } catch {
                order.failed()
                retryLater()
            }
        }
    }

    private func listen() async throws(DatabaseError) {
        let connection = try await DatabaseConnection.connect(
            loop: loop, options: options, order: order, onNotification: wake,
            onClose: { [weak self] _, _ in self?.assumeIsolated { $0.connectionLost() } })
        guard state == .running else { return await connection.close() }
        // Lost before anybody could be told: nobody would connect again.
        guard await connection.isOpen else { throw .unavailable(reason: "the connection was lost at once") }
        self.connection = connection
        do {
            try await connection.execute(channels.map { "LISTEN \"\($0)\"" }.joined(separator: "; "))
        } catch {
            // A refusal leaves the connection open, which then would be one too many.
            await connection.close()
            throw error
        }
        failureCount = 0
        if let endpoint = await connection.endpoint { order.worked(endpoint) }
        wake(nil)
    }

    private func connectionLost() {
        connection = nil
        retryLater()
    }

    private func retryLater() {
        guard state == .running, retry == nil else { return }
        failureCount += 1
        let delay = Backoff.reconnecting.delay(afterFailure: failureCount, random: .random(in: 0..<1))
        retry = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { listener in
                listener.retry = nil
                listener.connect()
            }
        }
    }
}
