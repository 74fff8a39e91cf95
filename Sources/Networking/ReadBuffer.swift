import Glibc

/// Where a loop's streams receive: one buffer per loop, because its content is passed on before the next call.
@safe final class ReadBuffer {
    /// Bytes asked for by one `recv`; larger gains nothing measurable.
    static let byteCount = 128 << 10

    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init() {
        unsafe bytes = .allocate(capacity: ReadBuffer.byteCount)
        unsafe bytes.initialize(repeating: 0)
    }

    deinit {
        unsafe bytes.deallocate()
    }

    /// Receives up to `limit` bytes; 0 is the end of the stream, nil means that nothing is there yet.
    func receive(from socket: Int32, limit: Int) throws(SystemError) -> Int? {
        while true {
            let count = unsafe recv(socket, bytes.baseAddress, min(limit, ReadBuffer.byteCount), 0)
            if count >= 0 { return count }
            if Socket.isWouldBlock(errno) { return nil }
            guard errno == EINTR else { throw .last("recv") }
        }
    }

    /// Lends the first `count` bytes: what `receive` has just brought.
    func withPrefix(_ count: Int, _ body: (Span<UInt8>) -> Void) {
        unsafe body(bytes.span.extracting(0..<count))
    }

    /// Appends the first `count` bytes.
    func appendPrefix(_ count: Int, to buffer: inout [UInt8]) {
        unsafe buffer.append(contentsOf: bytes[..<count])
    }
}
