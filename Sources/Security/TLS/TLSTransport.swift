import COpenSSL

/// What OpenSSL takes for its socket: two buffers in memory.
///
/// OpenSSL's own memory BIO gives bytes out only by copying; this one lends what waits, so that many records leave in one `send`.
final class TLSTransport {
    /// From the socket, for OpenSSL.
    var input = CiphertextBuffer()
    /// From OpenSSL, for the socket.
    var output = CiphertextBuffer()

    /// Makes a BIO over this object and gives one reference to the caller. The object must outlive the BIO.
    func makeBIO() -> OpaquePointer {
        guard let bio = unsafe BIO_new(transportMethod) else { preconditionFailure("no memory for a BIO") }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    fileprivate static func recover(from bio: OpaquePointer?) -> TLSTransport {
        guard let data = unsafe BIO_get_data(bio) else { preconditionFailure("the BIO lost its transport") }
        return unsafe Unmanaged<TLSTransport>.fromOpaque(data).takeUnretainedValue()
    }
}

// nonisolated(unsafe): filled once by its initialiser, only read afterwards, never freed.
nonisolated(unsafe) private let transportMethod: OpaquePointer = {
    guard let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "openpushd") else {
        preconditionFailure("no memory for a BIO method")
    }
    unsafe BIO_meth_set_write_ex(method, writeCiphertext)
    unsafe BIO_meth_set_read_ex(method, readCiphertext)
    unsafe BIO_meth_set_ctrl(method, controlTransport)
    return unsafe method
}()

private func writeCiphertext(
    bio: OpaquePointer?, bytes: UnsafePointer<CChar>?, count: Int, written: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let bytes = unsafe bytes else { return 0 }
    unsafe bytes.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
        unsafe TLSTransport.recover(from: bio).output.append(UnsafeBufferPointer(start: bytes, count: count))
    }
    unsafe written?.pointee = count
    return 1
}

private func readCiphertext(
    bio: OpaquePointer?, buffer: UnsafeMutablePointer<CChar>?, count: Int, taken: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let buffer = unsafe buffer else { return 0 }
    let byteCount = unsafe buffer.withMemoryRebound(to: UInt8.self, capacity: count) { buffer in
        unsafe TLSTransport.recover(from: bio).input.take(into: UnsafeMutableBufferPointer(start: buffer, count: count))
    }
    unsafe taken?.pointee = byteCount
    if byteCount == 0 { unsafe openpushd_bio_wants_input(bio) }
    return byteCount > 0 ? 1 : 0
}

/// Nothing is held back, so a flush succeeds; what else OpenSSL may ask does not apply to memory.
private func controlTransport(
    bio: OpaquePointer?, command: Int32, argument: Int, pointer: UnsafeMutableRawPointer?
) -> Int {
    command == BIO_CTRL_FLUSH ? 1 : 0
}
