/// Bytes of frames that wait to be taken, in memory that is used again.
///
/// An array would do, but libnghttp2's callbacks append to it several times a request, and each append of an array asks the
/// runtime first whether it is the only owner.
@safe struct FrameOutput: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// How many bytes wait.
    private(set) var count = 0

    /// An empty output that takes so many bytes without growing.
    init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(capacity: capacity)
    }

    deinit { unsafe memory.deallocate() }

    /// Copies bytes to the end.
    mutating func append(_ bytes: UnsafePointer<UInt8>, count added: Int) {
        if count + added > capacity { grow(to: count + added) }
        unsafe memory.advanced(by: count).update(from: bytes, count: added)
        count += added
    }

    /// Copies bytes to the end.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        unsafe append(start, count: bytes.count)
    }

    /// Appends one byte.
    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(to: count + 1) }
        unsafe memory[count] = byte
        count += 1
    }

    /// Appends a string as HPACK has it, without Huffman code.
    mutating func appendString(_ bytes: UnsafeBufferPointer<UInt8>) {
        if bytes.count < 127 {
            append(UInt8(bytes.count))
        } else {
            for byte in HeaderEncoder.length(bytes.count) { append(byte) }
        }
        unsafe append(bytes)
    }

    /// Lends everything, then forgets it, also when `body` throws.
    mutating func take<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
        let taken = count
        count = 0
        try unsafe body(UnsafeBufferPointer(start: memory, count: taken).span)
    }

    private mutating func grow(to needed: Int) {
        let larger = max(needed, 2 * capacity)
        let replacement = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        unsafe replacement.update(from: memory, count: count)
        unsafe memory.deallocate()
        unsafe memory = replacement
        capacity = larger
    }
}
