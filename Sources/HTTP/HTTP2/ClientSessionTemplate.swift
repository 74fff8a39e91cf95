import CNGHTTP2

/// A header field of a request template.
package struct HTTP2Field: Sendable, Hashable {
    /// Lower-case name.
    package let name: String
    /// The value as it goes on the wire.
    package let value: String
    /// Puts both together.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// What many requests have in common, laid out once in the memory libnghttp2 reads from.
///
/// A request adds its path, one identifier field and the choice of a body. The session keeps the template alive while a
/// stream uses it, so that neither names, values nor bodies are copied per request.
@safe package final class HTTP2RequestTemplate {
    /// Position of `:path` and of the identifier among the fields.
    static let pathIndex = 3
    static let identifierIndex = 4

    /// The fields in wire order; the values at `pathIndex` and `identifierIndex` are filled in per request.
    let fields: UnsafeMutablePointer<nghttp2_nv>
    /// How many fields there are.
    let fieldCount: Int
    /// The bytes the fields point to.
    private let text: UnsafeMutablePointer<UInt8>
    /// The bodies a request chooses from.
    let bodies: [[UInt8]]

    /// Lays out the fields.
    ///
    /// - Parameters:
    ///   - authority: `:authority`, host and port.
    ///   - identifierName: the field whose value every request brings; it is never indexed by HPACK.
    ///   - fields: all further fields. `authorization` is never indexed.
    ///   - bodies: at least one.
    package init(method: String, authority: String, identifierName: String, fields further: [HTTP2Field], bodies: [[UInt8]]) {
        precondition(!bodies.isEmpty, "a request template needs a body")
        let all =
            [
                HTTP2Field(":method", method), HTTP2Field(":scheme", "https"), HTTP2Field(":authority", authority),
                HTTP2Field(":path", ""), HTTP2Field(identifierName, ""),
            ] + further
        let byteCount = all.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        unsafe text = .allocate(capacity: byteCount)
        unsafe fields = .allocate(capacity: all.count)
        fieldCount = all.count
        self.bodies = bodies
        var next = unsafe text
        for (index, field) in all.enumerated() {
            let name = unsafe next
            for byte in field.name.utf8 {
                unsafe next.initialize(to: byte)
                unsafe next += 1
            }
            let value = unsafe next
            for byte in field.value.utf8 {
                unsafe next.initialize(to: byte)
                unsafe next += 1
            }
            unsafe fields.advanced(by: index).initialize(
                to: nghttp2_nv(
                    name: name, value: value, namelen: field.name.utf8.count, valuelen: field.value.utf8.count,
                    flags: HTTP2RequestTemplate.flags(at: index, name: field.name)))
        }
    }

    deinit {
        unsafe fields.deallocate()
        unsafe text.deallocate()
    }

    /// Values that a request brings are copied, since they live in its caller's buffer; everything else stays where it is.
    private static func flags(at index: Int, name: String) -> UInt8 {
        var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
        if index != pathIndex && index != identifierIndex { flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue }
        if index == identifierIndex || name == "authorization" { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
        return UInt8(flags)
    }
}
