import CNGHTTP2

/// Encodes header fields as HPACK literals that neither use nor change a dynamic table (RFC 7541).
///
/// libnghttp2 encodes whole fields, Huffman code included. Only the values that differ from request to request are put behind a name
/// by hand: the Huffman code of a path would cost more than all the rest of a request (docs/performance.md).
@safe struct HeaderEncoder: ~Copyable {
    /// Largest encoded list, in bytes.
    private static let byteCount = HTTP2RequestTemplate.blockByteCount

    private let deflater: OpaquePointer

    /// An encoder whose dynamic table is empty and stays so.
    init() {
        var deflater: OpaquePointer?
        let code = unsafe nghttp2_hd_deflate_new(&deflater, 0)
        guard code == 0, let deflater = unsafe deflater else { preconditionFailure("no memory for an HPACK encoder: \(code)") }
        unsafe self.deflater = deflater
        // The first block announces the size of the table; each connection announces its own.
        _ = encode([])
    }

    deinit { unsafe nghttp2_hd_deflate_del(deflater) }

    /// The fields, one after the other. Traps when they do not fit a block: the callers' fields are bounded far below.
    func encode(_ fields: [HTTP2Field]) -> [UInt8] {
        let text = fields.flatMap { Array($0.name.utf8) + Array($0.value.utf8) }
        var count = 0
        let block = unsafe text.withUnsafeBufferPointer { text in
            var entries: [nghttp2_nv] = unsafe []
            var offset = 0
            for field in fields {
                let name = unsafe UnsafeMutablePointer(mutating: text.baseAddress?.advanced(by: offset))
                let nameCount = field.name.utf8.count
                let flag = field.name == "authorization" ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                unsafe entries.append(
                    nghttp2_nv(
                        name: name, value: name?.advanced(by: nameCount), namelen: nameCount, valuelen: field.value.utf8.count,
                        flags: UInt8(flag.rawValue)))
                offset += nameCount + field.value.utf8.count
            }
            return unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, initialized in
                unsafe count = nghttp2_hd_deflate_hd(deflater, buffer.baseAddress, buffer.count, &entries, entries.count)
                initialized = max(count, 0)
            }
        }
        precondition(count >= 0, "header fields do not fit a block")
        return block
    }

    /// "Literal without indexing, name 4 of the static table": `:path` (RFC 7541, 6.2.2 and appendix A).
    static let pathName: [UInt8] = [0x04]

    /// "Literal without indexing, new name".
    static func name(_ name: String) -> [UInt8] { [0x00] + length(name.utf8.count) + Array(name.utf8) }

    /// The length of a string that is not Huffman coded: an integer with a prefix of seven bits (RFC 7541, 5.1 and 5.2).
    static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var bytes: [UInt8] = [127]
        var rest = count - 127
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }

    /// How many bytes `length` gives.
    static func lengthByteCount(_ count: Int) -> Int {
        switch count {
        case ..<127: 1
        case ..<(127 + 128): 2
        case ..<(127 + 128 * 128): 3
        default: length(count).count
        }
    }
}
