/// Bytes that wait to be sent: appended at the end, taken from the front, kept in one piece so that one `send` takes all.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var start = 0

    /// Storage of an emptied queue above this is given back, so that ten thousand idle connections hold little.
    private static let keptByteCount = 128 << 10

    var count: Int { bytes.count - start }
    var isEmpty: Bool { start == bytes.count }

    /// Lends all that waits.
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(bytes.span.extracting(start..<bytes.count))
    }

    mutating func append(_ span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func removeFirst(_ count: Int) {
        precondition(count >= 0 && count <= self.count, "more than there is")
        start += count
        if start == bytes.count {
            removeAll()
        } else if start > bytes.count / 2 {
            // At most one byte is moved for each that was sent.
            bytes.removeFirst(start)
            start = 0
        }
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= ByteQueue.keptByteCount)
        start = 0
    }
}
