import CLinux
import Glibc
import Security

extension SocketStream {
    /// Writes bytes: the system takes what fits, the rest goes out as the socket becomes writable.
    ///
    /// Hand in much at once: TLS makes records of 16 KiB, and everything that waits goes out in one `send`. Before the stream is open
    /// the bytes wait.
    /// - Parameter flushing: false only queues (TLS: encrypts), for an owner that calls `flush` after its last piece.
    package func write(_ bytes: Span<UInt8>, flushing: Bool = true) throws(StreamError) {
        guard phase != .closed, writeSide == .open else { throw .closed }
        guard unsentByteCount + bytes.count <= SocketStream.unsentByteLimit else {
            throw .unsentLimitExceeded(byteCount: SocketStream.unsentByteLimit)
        }
        guard phase == .open else { return unsent.append(bytes) }
        if let tls {
            do throws(SecurityError) {
                try tls.write(bytes)
            } catch {
                sendCiphertextOnce()
                throw .security(error)
            }
        } else if flushing, unsent.isEmpty {
            // Nothing waits: the bytes go from the caller's storage to the system, and only what is left over is copied.
            let count = try send(bytes)
            if count < bytes.count { unsent.append(bytes.extracting(count..<bytes.count)) }
            return updateInterest()
        } else {
            unsent.append(bytes)
        }
        if flushing { try flush() }
    }

    /// Sends what was queued, as far as the system takes it.
    package func flush() throws(StreamError) {
        guard phase == .open || phase == .handshaking else { return }
        try sendWaitingBytes()
        if writeSide == .ending, unsentByteCount == 0 {
            writeSide = .ended
            // Fails with ENOTCONN when the peer has reset the connection; reading tells.
            _ = shutdown(socket, Int32(SHUT_WR))
        }
        updateInterest()
    }

    /// Ends the stream in this direction once everything written has been sent. Reading goes on.
    package func shutdownWrite() throws(StreamError) {
        guard phase != .closed, writeSide == .open else { return }
        writeSide = .ending
        guard phase == .open else { return }
        tls?.shutdown()
        try flush()
    }

    private func sendWaitingBytes() throws(StreamError) {
        var failure: StreamError?
        func take(_ bytes: Span<UInt8>) -> Int {
            do throws(StreamError) {
                return try send(bytes)
            } catch {
                failure = error
                return 0
            }
        }
        if let tls {
            if tls.pendingCiphertextByteCount > 0 { tls.withPendingCiphertext(take) }
        } else if !unsent.isEmpty {
            unsent.removeFirst(unsent.withBytes(take))
        }
        if let failure { throw failure }
    }

    /// Sends once and says how many bytes the system took. Fewer than given: its buffer is full, and the loop says when it is not.
    private func send(_ bytes: Span<UInt8>) throws(StreamError) -> Int {
        guard !bytes.isEmpty else { return 0 }
        while true {
            let count = unsafe bytes.withUnsafeBufferPointer { (buffer) in
                unsafe Glibc.send(socket, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return count }
            if Socket.isWouldBlock(errno) { return 0 }
            guard errno == EINTR else { throw .system(.last("send")) }
        }
    }

    /// Tells a TLS peer that the end is meant, unless something is in the way.
    func sayGoodbye() {
        guard let tls, phase == .open, writeSide == .open, unsentByteCount == 0 else { return }
        tls.shutdown()
        sendCiphertextOnce()
    }

    /// Sends ciphertext the peer should see but may do without: an alert.
    func sendCiphertextOnce() {
        try? sendWaitingBytes()
    }
}
