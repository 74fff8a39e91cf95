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

/// What many requests have in common, encoded once.
///
/// A request adds its path, one identifier field and the choice of a body. Its header block is the template's encoded fields with the
/// two values between them: literals that touch no dynamic table (RFC 7541, 6.2.2), so that the same bytes are right on every
/// connection and at any time. The session keeps the template alive while a stream uses it.
@safe package final class HTTP2RequestTemplate {
    /// Largest header block of a request, in bytes: what every peer takes as one frame (RFC 9113, 4.2).
    package static let blockByteCount = 16_384

    /// `:method`, `:scheme`, `:authority`, and the name of `:path`.
    let head: UnsafeBufferPointer<UInt8>
    /// All further fields, and the name of the identifier.
    let tail: UnsafeBufferPointer<UInt8>
    /// The bodies a request chooses from.
    let bodies: [UnsafeBufferPointer<UInt8>]
    /// The bytes of all of them.
    private let memory: UnsafeMutablePointer<UInt8>

    /// Encodes the fields.
    ///
    /// - Parameters:
    ///   - authority: `:authority`, host and port.
    ///   - identifierName: the field whose value every request brings.
    ///   - fields: all further fields. `authorization` is marked as never to be indexed.
    ///   - bodies: at least one.
    package init(method: String, authority: String, identifierName: String, fields: [HTTP2Field], bodies: [[UInt8]]) {
        precondition(!bodies.isEmpty, "a request template needs a body")
        let encoder = HeaderEncoder()
        let head =
            encoder.encode([
                HTTP2Field(":method", method), HTTP2Field(":scheme", "https"), HTTP2Field(":authority", authority),
            ]) + HeaderEncoder.pathName
        let tail = encoder.encode(fields) + HeaderEncoder.name(identifierName)
        let pieces = [head, tail] + bodies
        unsafe memory = .allocate(capacity: pieces.reduce(0) { $0 + $1.count })
        var next = unsafe memory
        var copies: [UnsafeBufferPointer<UInt8>] = unsafe []
        for piece in pieces {
            let copy = unsafe UnsafeMutableBufferPointer(start: next, count: piece.count)
            unsafe next += copy.initialize(fromContentsOf: piece)
            unsafe copies.append(UnsafeBufferPointer(copy))
        }
        unsafe self.head = copies[0]
        unsafe self.tail = copies[1]
        unsafe self.bodies = Array(copies.dropFirst(2))
    }

    deinit { unsafe memory.deallocate() }

    /// Length of a request's header block, in bytes, without what libnghttp2 may put before it.
    func blockByteCount(pathByteCount: Int, identifierByteCount: Int) -> Int {
        unsafe head.count + tail.count + HeaderEncoder.lengthByteCount(pathByteCount) + pathByteCount
            + HeaderEncoder.lengthByteCount(identifierByteCount) + identifierByteCount
    }
}
