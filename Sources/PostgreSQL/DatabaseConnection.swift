package import Networking

/// One session with PostgreSQL, on one event loop. Calls from several tasks are carried out one after another.
///
/// Cancelling the task that waits for a statement does not interrupt it: its deadline does. A connection that misses a deadline is closed,
/// because what the server will do with the statement is no longer known.
package actor DatabaseConnection {
    /// Most calls that wait for their turn on one connection.
    static let waitingLimit = 64

    let loop: EventLoop
    let options: DatabaseOptions
    /// nil once closed.
    private(set) var handle: ConnectionHandle?
    private(set) var closeFailure = DatabaseError.unavailable(reason: "not connected")
    /// Where it leads, once it is open.
    private(set) var endpoint: DatabaseOptions.Endpoint?
    var operation: PendingOperation?
    var prepared = PreparedStatements()

    private var connecting: CheckedContinuation<Result<Void, DatabaseError>, Never>?
    private var watchedSocket: Int32?
    private var interest: Readiness = []
    private var isOccupied = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var lastSerial: UInt64 = 0
    private let onNotification: (@Sendable (DatabaseNotification) -> Void)?
    private var onClose: (@Sendable (DatabaseConnection, DatabaseError) -> Void)?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private init(loop: EventLoop, options: DatabaseOptions, onNotification: (@Sendable (DatabaseNotification) -> Void)?) {
        self.loop = loop
        self.options = options
        self.onNotification = onNotification
    }

    /// Connects, or throws `.unavailable` when that takes longer than the options allow. The caller closes it.
    ///
    /// `order`: of the servers, for one that does not answer must not hide the next.
    /// `onNotification` is called on the loop for each NOTIFY, `onClose` once, on the loop, when an established connection ends.
    package static func connect(
        loop: EventLoop, options: DatabaseOptions, order: ServerOrder = ServerOrder(),
        onNotification: (@Sendable (DatabaseNotification) -> Void)? = nil,
        onClose: (@Sendable (DatabaseConnection, DatabaseError) -> Void)? = nil
    ) async throws(DatabaseError) -> DatabaseConnection {
        let connection = DatabaseConnection(loop: loop, options: options, onNotification: onNotification)
        let endpoints = try await connection.resolve(in: order)
        try await connection.open(options.connectionKeywords(endpoints), onClose: onClose)
        return connection
    }

    package var isOpen: Bool { handle != nil && connecting == nil }

    /// Nothing is under way, nothing waits, and no transaction is open.
    var isIdle: Bool { isOpen && !isOccupied && waiting.isEmpty && handle?.isIdle == true }

    /// Ends the session; what is under way fails with `.unavailable`. Harmless when closed.
    package func close() { close(reason: "connection closed") }

    // MARK: Connecting

    private func resolve(in order: ServerOrder) async throws(DatabaseError) -> [DatabaseOptions.Endpoint] {
        let options = self.options
        // A task of its own, because cancelling is what ends a look-up.
        let task = Task { () -> Result<[DatabaseOptions.Endpoint], DatabaseError> in
            do throws(DatabaseError) {
                return .success(try await options.resolvedEndpoints(in: order))
            } catch {
                return .failure(error)
            }
        }
        let deadline = loop.schedule(after: options.connectTimeout) { task.cancel() }
        let outcome = await task.value
        loop.cancel(deadline)
        return try outcome.get()
    }

    private func open(
        _ keywords: [String: String], onClose: (@Sendable (DatabaseConnection, DatabaseError) -> Void)?
    ) async throws(DatabaseError) {
        handle = try ConnectionHandle(keywords: keywords)
        let deadline = loop.schedule(after: options.connectTimeout) { [weak self] in
            self?.assumeIsolated { $0.close(reason: "connecting took too long") }
        }
        let outcome: Result<Void, DatabaseError> = await withCheckedContinuation { continuation in
            guard handle != nil else { return continuation.resume(returning: .failure(closeFailure)) }
            connecting = continuation
            // The first step after PQconnectStart is to wait until the socket is writable.
            watch(for: .writable)
        }
        loop.cancel(deadline)
        try outcome.get()
        self.onClose = onClose
    }

    private func advanceConnecting() {
        guard let handle else { return }
        // libpq may close the socket and open another one for the next address: the loop must not hold on to the old one.
        unwatch()
        switch handle.pollConnecting() {
        case .waitsToRead: watch(for: .readable)
        case .waitsToWrite: watch(for: .writable)
        case .failed: close(handle.failure)
        case .open:
            watch(for: .readable)
            guard let waiter = connecting, self.handle != nil else { return }
            connecting = nil
            endpoint = handle.endpoint
            waiter.resume(returning: .success(()))
        }
    }

    // MARK: The socket

    private func watch(for interest: Readiness) {
        guard let handle, handle.socket >= 0 else { return close(reason: "no socket") }
        do {
            try loop.watch(handle.socket, for: interest, handler: self)
            watchedSocket = handle.socket
            self.interest = interest
        } catch {
            close(reason: "\(error)")
        }
    }

    private func unwatch() {
        guard let socket = watchedSocket else { return }
        watchedSocket = nil
        loop.unwatch(socket)
    }

    private func change(to wanted: Readiness) {
        guard let socket = watchedSocket, wanted != interest else { return }
        interest = wanted
        loop.change(socket, to: wanted)
    }

    private func becameReady() {
        guard let handle else { return }
        guard connecting == nil else { return advanceConnecting() }
        guard handle.consumeInput() else { return close(handle.failure) }
        while let notification = handle.nextNotification() { onNotification?(notification) }
        advance()
    }

    func close(reason: String) { close(.unavailable(reason: reason)) }

    func close(_ failure: DatabaseError) {
        guard handle != nil else { return }
        unwatch()
        handle = nil
        closeFailure = failure
        if let waiter = connecting {
            connecting = nil
            waiter.resume(returning: .failure(failure))
        }
        finishOperation(.failure(failure))
        let onClose = self.onClose
        self.onClose = nil
        onClose?(self, failure)
    }

    // MARK: Carrying out an operation

    /// Waits until the calls before have been carried out. Balanced by ``endTurn()``.
    func beginTurn() async throws(DatabaseError) {
        guard isOccupied else {
            isOccupied = true
            return
        }
        guard waiting.count < Self.waitingLimit else { throw .unavailable(reason: "too many calls wait for one connection") }
        await withCheckedContinuation { continuation in
            // The turn is handed over, unless it has ended since.
            if isOccupied { return waiting.append(continuation) }
            isOccupied = true
            continuation.resume()
        }
    }

    func endTurn() {
        if waiting.isEmpty { isOccupied = false } else { waiting.removeFirst().resume() }
    }

    /// Sends and waits for all answers. Throws when any of them is an error.
    func perform(
        _ completion: PendingOperation.Completion, deadline: Duration, copyData: [UInt8]? = nil, send: (ConnectionHandle) -> Bool
    ) async throws(DatabaseError) -> [QueryResult] {
        guard isOpen, let handle else { throw closeFailure }
        guard send(handle) else {
            close(handle.failure)
            throw closeFailure
        }
        let outcome: Result<[QueryResult], DatabaseError> = await withCheckedContinuation { continuation in
            // Lost since it was sent: nobody else would say so.
            guard self.handle != nil else { return continuation.resume(returning: .failure(closeFailure)) }
            lastSerial += 1
            let serial = lastSerial
            let timer = loop.schedule(after: deadline) { [weak self] in
                self?.assumeIsolated { $0.deadlinePassed(serial: serial) }
            }
            operation = PendingOperation(
                serial: serial, completion: completion, continuation: continuation, deadline: timer, copyData: copyData)
            advance()
        }
        return try outcome.get()
    }

    private func deadlinePassed(serial: UInt64) {
        guard operation?.serial == serial else { return }
        close(reason: "the statement took too long")
    }

    /// Sends what the socket takes and collects the answers that are there.
    private func advance() {
        guard let handle, operation != nil else { return }
        guard collect(handle) else { return }
        guard let isFlushed = handle.flush() else { return close(handle.failure) }
        change(to: isFlushed ? .readable : [.readable, .writable])
    }

    /// False when the connection was closed.
    private func collect(_ handle: ConnectionHandle) -> Bool {
        while operation != nil, !handle.isBusy {
            guard let result = handle.nextResult() else {
                if operation?.completion == .simple { finish(handle) }
                continue
            }
            switch operation?.take(result) {
            case .goOn, nil: break
            case .finished: finish(handle)
            case .feedCopy:
                switch feedCopy(handle) {
                case .waitsForSocket: return true
                case .finished: break
                case .failed:
                    close(handle.failure)
                    return false
                }
            case .protocolViolation:
                close(reason: "unexpected answer")
                return false
            }
        }
        return self.handle != nil
    }

    private func finish(_ handle: ConnectionHandle) {
        guard let operation else { return }
        if operation.completion == .pipeline, !handle.exitPipeline() { return close(handle.failure) }
        guard let diagnosis = operation.failure else { return finishOperation(.success(operation.results)) }
        let failure = diagnosis.error
        finishOperation(.failure(failure))
        if diagnosis.demandsReconnect || handle.isBroken { close(failure) }
    }

    private func finishOperation(_ outcome: Result<[QueryResult], DatabaseError>) {
        guard let operation else { return }
        self.operation = nil
        loop.cancel(operation.deadline)
        operation.continuation.resume(returning: outcome)
    }

    // MARK: COPY

    private enum CopyProgress { case waitsForSocket, finished, failed }

    /// Bytes given to libpq between two flushes: bounds the second copy it makes of the data.
    private static let copyChunkByteCount = 256 * 1024

    private func feedCopy(_ handle: ConnectionHandle) -> CopyProgress {
        guard let data = operation?.copyData else { return .failed }
        var offset = operation?.copiedByteCount ?? 0
        while offset < data.count {
            let end = min(offset + Self.copyChunkByteCount, data.count)
            guard handle.putCopyData(data[offset..<end]) else { return .failed }
            offset = end
            operation?.copiedByteCount = offset
            guard let isFlushed = handle.flush() else { return .failed }
            if !isFlushed { return .waitsForSocket }
        }
        guard handle.putCopyEnd() else { return .failed }
        operation?.copyData = nil
        return .finished
    }
}

extension DatabaseConnection: ReadinessHandler {
    package nonisolated func ready(_ readiness: Readiness) {
        assumeIsolated { $0.becameReady() }
    }
}
