import CZlib

/// Why compressed bytes cannot be inflated. Says nothing of what they hold.
package enum InflationError: Error, Hashable, Sendable {
    /// They are neither gzip nor zlib, or damaged, or something else follows them.
    case malformed
    /// They end too early.
    case truncated
    /// They hold more than so many bytes.
    case tooLarge(byteLimit: Int)
}

/// Inflates what clients compress.
package enum Inflation {
    /// Most bytes that come out unless the caller says otherwise: 1 MiB. Customer.io takes batches of 500 KB, and its SDKs make none
    /// above 475,000 bytes; twice that leaves room for others.
    package static let byteLimit = 1 << 20
    /// Bytes inflated at a time: what a small bomb costs beyond its own size.
    private static let pieceByteCount = 64 * 1_024
    private static let firstByteOfGzip: UInt8 = 0x1F
    /// The largest window that deflate has, and what tells zlib to expect gzip's frame instead of its own. Source: zlib.h, inflateInit2.
    private static let windowBits: Int32 = 15
    private static let gzipBits: Int32 = 16

    /// What gzip (RFC 1952, one member or several) or zlib (RFC 1950) holds; checksums are verified.
    ///
    /// - Parameter byteLimit: most bytes to give back. No more than a piece beyond it is ever made.
    package static func inflate(
        _ bytes: [UInt8], byteLimit: Int = Inflation.byteLimit
    ) throws(InflationError) -> [UInt8] {
        precondition(byteLimit >= 0, "a limit is no debt")
        precondition(bytes.count <= UInt32.max, "zlib counts input in 32 bits")
        let isGzip = bytes.first == firstByteOfGzip
        // Its state points back at the stream, which must therefore keep its address.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        defer { unsafe stream.deallocate() }
        let isReady = unsafe openpushd_inflate_init(stream, isGzip ? windowBits + gzipBits : windowBits) == Z_OK
        precondition(isReady, "no memory to inflate with")
        defer { unsafe inflateEnd(stream) }
        return try unsafe bytes.withUnsafeBufferPointer { (input) throws(InflationError) -> [UInt8] in
            // zlib does not write to its input; its header says so with ZLIB_CONST only.
            unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.pointee.avail_in = UInt32(input.count)
            return try unsafe output(of: stream, hasMembers: isGzip, byteLimit: byteLimit)
        }
    }

    private static func output(
        of stream: UnsafeMutablePointer<z_stream>, hasMembers: Bool, byteLimit: Int
    ) throws(InflationError) -> [UInt8] {
        var output: [UInt8] = []
        while true {
            // One byte more than is allowed tells whether there is more.
            let (piece, status) = unsafe nextPiece(of: stream, byteCount: min(pieceByteCount, byteLimit - output.count + 1))
            output.append(contentsOf: piece)
            guard output.count <= byteLimit else { throw .tooLarge(byteLimit: byteLimit) }
            switch status {
            case Z_OK: continue
            case Z_STREAM_END:
                if unsafe stream.pointee.avail_in == 0 { return output }
                // What follows must be another member: zlib looks.
                guard hasMembers, unsafe inflateReset(stream) == Z_OK else { throw .malformed }
            // There was room, so what it lacks is input.
            case Z_BUF_ERROR: throw .truncated
            case Z_MEM_ERROR: preconditionFailure("no memory to inflate with")
            default: throw .malformed
            }
        }
    }

    /// At most so many bytes, at least one of them allowed, and what zlib says.
    private static func nextPiece(
        of stream: UnsafeMutablePointer<z_stream>, byteCount: Int
    ) -> (piece: [UInt8], status: Int32) {
        var status = Z_OK
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            unsafe stream.pointee.next_out = buffer.baseAddress
            unsafe stream.pointee.avail_out = UInt32(byteCount)
            status = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
            count = byteCount - Int(unsafe stream.pointee.avail_out)
        }
        return (piece, status)
    }
}
