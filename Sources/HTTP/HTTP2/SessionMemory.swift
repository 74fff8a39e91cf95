import CNGHTTP2

/// Where one session of libnghttp2 has its memory: blocks it frees are given out again without asking the system's allocator.
///
/// libnghttp2 allocates some five blocks a request, of a few sizes, and frees them when the answer is in. What is kept is what the session
/// held at its busiest, a few hundred bytes a stream.
@safe struct SessionMemory: ~Copyable {
    /// Blocks are multiples of this, in bytes.
    fileprivate static let stepByteCount = 64
    /// Larger blocks than so many steps come from the system and go back to it.
    fileprivate static let stepCount = 12
    /// In front of each block: how many bytes it holds. Keeps the block aligned as `malloc` would.
    fileprivate static let headByteCount = 16

    /// By number of steps less one: the latest freed block, which holds the one before.
    private let heads: UnsafeMutablePointer<UnsafeMutableRawPointer?>

    init() {
        unsafe heads = .allocate(capacity: Self.stepCount)
        unsafe heads.initialize(repeating: nil, count: Self.stepCount)
    }

    /// All blocks must have been freed: the session is gone.
    deinit {
        for index in 0..<Self.stepCount {
            var next = unsafe heads[index]
            while let block = unsafe next {
                unsafe next = block.load(as: UnsafeMutableRawPointer?.self)
                unsafe (block - Self.headByteCount).deallocate()
            }
        }
        unsafe heads.deallocate()
    }

    /// What libnghttp2 calls; it copies the table.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: UnsafeMutableRawPointer(heads), malloc: allocate, free: release, calloc: allocateZeroed,
            realloc: reallocate)
    }
}

private func allocate(byteCount: Int, userData: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let step = max(byteCount - 1, 0) / SessionMemory.stepByteCount
    guard step < SessionMemory.stepCount, let userData = unsafe userData else { return unsafe newBlock(byteCount) }
    let heads = unsafe userData.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
    guard let block = unsafe heads[step] else { return unsafe newBlock((step + 1) * SessionMemory.stepByteCount) }
    unsafe heads[step] = block.load(as: UnsafeMutableRawPointer?.self)
    return unsafe block
}

private func newBlock(_ byteCount: Int) -> UnsafeMutableRawPointer {
    let whole = UnsafeMutableRawPointer.allocate(
        byteCount: SessionMemory.headByteCount + byteCount, alignment: SessionMemory.headByteCount)
    unsafe whole.storeBytes(of: byteCount, as: Int.self)
    return unsafe whole + SessionMemory.headByteCount
}

private func byteCount(of block: UnsafeMutableRawPointer) -> Int {
    unsafe (block - SessionMemory.headByteCount).load(as: Int.self)
}

private func release(block: UnsafeMutableRawPointer?, userData: UnsafeMutableRawPointer?) {
    guard let block = unsafe block else { return }
    let step = unsafe byteCount(of: block) / SessionMemory.stepByteCount - 1
    let isKept = unsafe byteCount(of: block) % SessionMemory.stepByteCount == 0 && step < SessionMemory.stepCount
    guard isKept, step >= 0, let userData = unsafe userData else {
        return unsafe (block - SessionMemory.headByteCount).deallocate()
    }
    let heads = unsafe userData.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
    unsafe block.storeBytes(of: heads[step], as: UnsafeMutableRawPointer?.self)
    unsafe heads[step] = block
}

private func allocateZeroed(count: Int, size: Int, userData: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let (total, isTooLarge) = count.multipliedReportingOverflow(by: size)
    guard !isTooLarge, let block = unsafe allocate(byteCount: total, userData: userData) else { return nil }
    unsafe block.initializeMemory(as: UInt8.self, repeating: 0, count: total)
    return unsafe block
}

private func reallocate(
    block: UnsafeMutableRawPointer?, size: Int, userData: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    guard let block = unsafe block else { return unsafe allocate(byteCount: size, userData: userData) }
    let held = unsafe byteCount(of: block)
    guard size > held else { return unsafe block }
    guard let larger = unsafe allocate(byteCount: size, userData: userData) else { return nil }
    unsafe larger.copyMemory(from: block, byteCount: held)
    unsafe release(block: block, userData: userData)
    return unsafe larger
}
