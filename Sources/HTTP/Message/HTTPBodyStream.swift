import Synchronization

/// A body that is made while it is sent: whoever makes it offers the latest piece, and the connection takes a piece when the client
/// has taken those before.
///
/// Between the two there is room for one piece. A piece that the client was too slow for is replaced by the next, so a slow client
/// costs no more memory than a quick one. What must be sent in any case belongs into the response's `body`, which goes first.
package final class HTTPBodyStream: Sendable {
    /// Largest piece in bytes.
    package static let pieceByteCount = 64 * 1024

    /// What the connection sends next.
    struct Piece: Equatable {
        let bytes: [UInt8]
        /// Whether nothing follows.
        let isLast: Bool
    }

    private struct State {
        var waiting: [UInt8] = []
        /// Since when a piece, or the end, waits to be taken.
        var waitingSince: ContinuousClock.Instant?
        var isFinished = false
        var isReleased = false
        /// Whether the connection knows that something waits.
        var isNotified = false
        var notify: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let released: @Sendable () -> Void

    /// - Parameter released: called once, on any thread, when nothing more will be taken: the client went away, was too slow or has
    ///   everything, or the server stops.
    package init(released: @escaping @Sendable () -> Void) {
        self.released = released
    }

    // MARK: Making

    /// Offers a piece in place of one that was not taken yet. Nothing happens after the end.
    package func offer(_ bytes: [UInt8]) {
        precondition(!bytes.isEmpty, "a piece has content")
        put(bytes) { !$0.isFinished }
    }

    /// Offers a piece that only shows that the stream is alive: it is dropped when another one waits.
    package func offerIfIdle(_ bytes: [UInt8]) {
        precondition(!bytes.isEmpty, "a piece has content")
        put(bytes) { !$0.isFinished && $0.waiting.isEmpty }
    }

    /// Ends the body behind what waits, or behind these bytes, which take its place.
    package func finish(_ bytes: [UInt8] = []) {
        put(bytes) { (state) in
            if state.isFinished { return false }
            state.isFinished = true
            return true
        }
    }

    private func put(_ bytes: [UInt8], if condition: (inout State) -> Bool) {
        precondition(bytes.count <= Self.pieceByteCount, "a piece has at most \(Self.pieceByteCount) bytes")
        let notify = state.withLock { (state) -> (@Sendable () -> Void)? in
            guard condition(&state), !state.isReleased else { return nil }
            if !bytes.isEmpty { state.waiting = bytes }
            if state.waitingSince == nil { state.waitingSince = .now }
            guard !state.isNotified, let notify = state.notify else { return nil }
            state.isNotified = true
            return notify
        }
        notify?()
    }

    // MARK: Sending

    /// Says whom to tell when a piece waits; it is called on any thread, at most once for each time that `take` found nothing.
    func begin(notify: @escaping @Sendable () -> Void) {
        let isWaiting = state.withLock { (state) -> Bool in
            state.notify = notify
            state.isNotified = state.waitingSince != nil
            return state.isNotified
        }
        if isWaiting { notify() }
    }

    /// The piece that waits; nil when there is none.
    func take() -> Piece? {
        state.withLock { (state) in
            guard state.waitingSince != nil else {
                state.isNotified = false
                return nil
            }
            defer { (state.waiting, state.waitingSince, state.isNotified) = ([], nil, false) }
            return Piece(bytes: state.waiting, isLast: state.isFinished)
        }
    }

    /// Since when something waits to be taken; nil when nothing does.
    var waitingSince: ContinuousClock.Instant? { state.withLock { $0.waitingSince } }

    /// Lets go of it: nothing more will be taken.
    func release() {
        let isFirst = state.withLock { (state) -> Bool in
            guard !state.isReleased else { return false }
            state.isReleased = true
            (state.waiting, state.waitingSince, state.notify) = ([], nil, nil)
            return true
        }
        if isFirst { released() }
    }
}

extension HTTPBodyStream: Equatable {
    package static func == (left: HTTPBodyStream, right: HTTPBodyStream) -> Bool { left === right }
}
