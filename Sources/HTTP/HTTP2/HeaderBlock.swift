import CNGHTTP2

/// A message's header fields laid out for libnghttp2: one buffer of bytes and where each name and value lies in it.
struct HeaderBlock {
    private var bytes: [UInt8] = []
    private var fields: [(nameCount: Int, valueCount: Int)] = []

    init(status: Int) {
        append(":status", String(status))
    }

    init(_ response: HTTPResponse) {
        self.init(status: response.status)
        for field in response.headers { append(field.name, field.value) }
    }

    init(_ request: HTTPClientRequest, authority: String) {
        append(":method", request.method)
        append(":scheme", "https")
        append(":authority", authority)
        append(":path", request.path)
        for field in request.fields { append(field.name, field.value) }
        if !request.body.isEmpty { append("content-length", String(request.body.count)) }
    }

    private mutating func append(_ name: String, _ value: String) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let valueStart = bytes.count
        bytes.append(contentsOf: value.utf8)
        fields.append((valueStart - start, bytes.count - valueStart))
    }

    /// Lends the fields; libnghttp2 copies them when they are submitted.
    func withFields<Failure: Error>(_ body: (UnsafePointer<nghttp2_nv>?, Int) throws(Failure) -> Void) throws(Failure) {
        try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(Failure) -> Void in
            guard let base = buffer.baseAddress else { return }
            var entries: [nghttp2_nv] = unsafe []
            unsafe entries.reserveCapacity(fields.count)
            var offset = 0
            for field in fields {
                let name = unsafe UnsafeMutablePointer(mutating: base + offset)
                let value = unsafe name + field.nameCount
                unsafe entries.append(
                    nghttp2_nv(
                        name: name, value: value, namelen: field.nameCount, valuelen: field.valueCount,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                offset += field.nameCount + field.valueCount
            }
            try unsafe entries.withUnsafeBufferPointer { (entries) throws(Failure) -> Void in
                try unsafe body(entries.baseAddress, entries.count)
            }
        }
    }
}
