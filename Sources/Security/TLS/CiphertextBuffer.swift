/// Bytes on their way between OpenSSL and the socket: appended at the end, lent and consumed from the front.
///
/// Not bounded here: the input holds what one read of the socket gave, the output what the owner wrote and the socket did not take yet,
/// which the owner bounds.
@safe struct CiphertextBuffer: ~Copyable {
    /// Storage kept while empty, in bytes; more is given back, so that one large answer does not stay with a silent connection.
    static let idleByteCount = 128 << 10
    /// First allocation, in bytes: more than one handshake flight.
    static let initialByteCount = 4 << 10

    private var storage = unsafe UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    private var start = 0
    private var end = 0

    deinit { unsafe storage.deallocate() }

    /// Bytes that wait.
    var count: Int { end - start }

    /// Copies `bytes` behind what waits.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard !bytes.isEmpty else { return }
        makeRoom(for: bytes.count)
        unsafe _ = UnsafeMutableBufferPointer(rebasing: storage[end...]).update(fromContentsOf: bytes)
        end += bytes.count
    }

    /// Moves up to `target.count` bytes from the front to `target` and says how many.
    mutating func take(into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let taken = min(count, target.count)
        guard taken > 0 else { return 0 }
        unsafe _ = target.update(fromContentsOf: storage[start..<start + taken])
        consume(taken)
        return taken
    }

    /// Lends all that waits; `body` says how many bytes from the front it is done with.
    mutating func withBytes(_ body: (Span<UInt8>) -> Int) {
        guard count > 0 else { return }
        let waiting = unsafe UnsafeBufferPointer(rebasing: storage[start..<end])
        consume(unsafe body(waiting.span))
    }

    private mutating func consume(_ byteCount: Int) {
        precondition((0...count).contains(byteCount), "consumed more than was lent")
        start += byteCount
        guard start == end else { return }
        start = 0
        end = 0
        if unsafe storage.count > Self.idleByteCount {
            unsafe storage.deallocate()
            unsafe storage = UnsafeMutableBufferPointer(start: nil, count: 0)
        }
    }

    /// Moves what waits to the front, or to twice the storage, when `byteCount` more do not fit behind it.
    private mutating func makeRoom(for byteCount: Int) {
        guard unsafe end + byteCount > storage.count else { return }
        let waiting = count
        // Moving in place pays only while little waits; otherwise each byte would move again and again.
        if unsafe waiting + byteCount <= storage.count, waiting <= start {
            unsafe _ = storage.update(fromContentsOf: storage[start..<end])
        } else {
            let capacity = unsafe max(Self.initialByteCount, storage.count * 2, waiting + byteCount)
            let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: capacity)
            unsafe _ = larger.update(fromContentsOf: storage[start..<end])
            unsafe storage.deallocate()
            unsafe storage = larger
        }
        start = 0
        end = waiting
    }
}
