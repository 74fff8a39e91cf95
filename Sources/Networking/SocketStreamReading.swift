import CLinux
import Glibc
import Security

extension SocketStream {
    /// Goes on with connecting, the handshake and sending; true once the stream is open. To be called from `ready`.
    package func process(_ readiness: Readiness) throws(StreamError) -> Bool {
        receivableByteCount = SocketStream.receivedBytesPerTurn
        switch phase {
        case .closed: throw .closed
        case .connecting:
            guard !readiness.isDisjoint(with: [.writable, .closed]) else { return false }
            try finishConnecting()
        case .handshaking: try continueHandshake()
        case .open:
            if readiness.contains(.writable) { try flush() }
            if readiness.contains(.closed), !wantsInput { throw lostConnection() }
            if isReadingPaused, readiness.contains(.readable) { updateInterest() }
        }
        return phase == .open
    }

    /// Appends up to `limit` bytes (1 or more) to `buffer`. Repeat until `.wouldBlock`: that comes after a bounded number of bytes, and
    /// what the socket still holds then is reported by the loop again.
    ///
    /// A TLS peer that closes without saying so reads as `.endOfStream` too: the protocol above knows whether its message was whole.
    package func read(into buffer: inout [UInt8], limit: Int) throws(StreamError) -> ReadResult {
        precondition(limit > 0, "a read takes one byte at least")
        switch phase {
        case .closed: throw .closed
        case .connecting, .handshaking: return .wouldBlock
        case .open: break
        }
        guard !hasReachedEnd else { return .endOfStream }
        guard let tls else { return try readPlain(into: &buffer, limit: limit) }
        while true {
            let result = try secured { () throws(SecurityError) in try tls.read(into: &buffer, limit: limit) }
            // Reading can make output: an answer to a key update.
            if tls.pendingCiphertextByteCount > 0 { try flush() }
            switch result {
            case .bytes(let count): return .bytes(count)
            case .closed: return reachedEnd()
            case .needsInput:
                guard let count = try receive(limit: ReadBuffer.byteCount) else { return .wouldBlock }
                guard count > 0 else { return reachedEnd() }
                loop.readBuffer.withPrefix(count) { tls.receive($0) }
            }
        }
    }

    private func readPlain(into buffer: inout [UInt8], limit: Int) throws(StreamError) -> ReadResult {
        guard let count = try receive(limit: limit) else { return .wouldBlock }
        guard count > 0 else { return reachedEnd() }
        loop.readBuffer.appendPrefix(count, to: &buffer)
        return .bytes(count)
    }

    private func reachedEnd() -> ReadResult {
        hasReachedEnd = true
        updateInterest()
        return .endOfStream
    }

    /// Receives into the loop's buffer, within what this turn allows; 0 is the end, nil: not now.
    private func receive(limit: Int) throws(StreamError) -> Int? {
        let asked = min(limit, ReadBuffer.byteCount, receivableByteCount)
        guard asked > 0 else { return nil }
        do {
            guard let count = try loop.readBuffer.receive(from: socket, limit: asked) else {
                receivableByteCount = 0
                return nil
            }
            // Less than asked: the socket is empty, and the loop says when it is not. That saves the call that would only say so.
            receivableByteCount = count < asked ? 0 : receivableByteCount - count
            return count
        } catch {
            throw .system(error)
        }
    }

    private func finishConnecting() throws(StreamError) {
        let code = Socket.takePendingError(socket)
        guard code == 0 else { throw .system(SystemError(operation: "connect", code: code)) }
        if tls == nil {
            phase = .open
            try flush()
        } else {
            phase = .handshaking
            try continueHandshake()
        }
    }

    private func continueHandshake() throws(StreamError) {
        guard let tls else { preconditionFailure("a handshake without TLS") }
        while true {
            let isDone = try secured { () throws(SecurityError) in try tls.handshake() }
            if isDone { return try finishHandshake(tls) }
            try flush()
            guard let count = try receive(limit: ReadBuffer.byteCount) else { return }
            guard count > 0 else { throw .closedDuringHandshake }
            loop.readBuffer.withPrefix(count) { tls.receive($0) }
        }
    }

    /// Encrypts what was written in advance, and sends it with the last message of the handshake.
    private func finishHandshake(_ tls: TLSSession) throws(StreamError) {
        phase = .open
        if !unsent.isEmpty {
            let result: Result<Void, SecurityError> = unsent.withBytes { bytes in
                Result { () throws(SecurityError) in try tls.write(bytes) }
            }
            unsent.removeAll()
            try secured { () throws(SecurityError) in try result.get() }
        }
        try flush()
    }

    /// Why a connection nobody reads from was reported as closed.
    private func lostConnection() -> StreamError {
        let code = Socket.takePendingError(socket)
        return code == 0 ? .closed : .system(SystemError(operation: "connection", code: code))
    }

    /// Calls into TLS; when that fails, sends the alert that tells the peer why, if there is room for it.
    func secured<Value>(_ body: () throws(SecurityError) -> Value) throws(StreamError) -> Value {
        do {
            return try body()
        } catch {
            sendCiphertextOnce()
            throw .security(error)
        }
    }
}
