import Compression
import Gateway
import HTTP
import JSON

/// What a request of Customer.io's SDKs carries: one event, or a batch of them.
struct IngestionBody {
    /// Most events of a batch. The SDKs fill files of 475,000 bytes, and no event of theirs has less than 500.
    static let eventCount = 1_000
    /// Largest body, compressed or not, in bytes; what it holds has the same bound.
    static let byteLimit = Inflation.byteLimit

    /// The events, in the order in which they happened, each with its place in the body.
    let events: [(path: String, event: JSONValue)]
    /// The app's key, where the body has one. The routes of single events have none there.
    let writeKey: String?

    /// Reads a body. Whatever is wrong with it is a 400: after anything else one of the SDKs would send it for ever.
    ///
    /// - Parameter isBatch: whether it holds events in `batch`, or is one itself.
    init(_ bytes: [UInt8], isBatch: Bool) throws(Refusal) {
        let root: JSONValue
        do throws(JSONError) { root = try JSONDocument(parsing: bytes).root } catch {
            throw .invalidBody(bytes.isEmpty ? "a JSON object is required" : error.description)
        }
        guard root.kind == .object else { throw .invalidBody("must be a JSON object") }
        writeKey = root["writeKey"]?.string
        guard isBatch else {
            events = [("", root)]
            return
        }
        guard let batch = root["batch"], !batch.isNull else { throw .batch(.missing) }
        guard batch.kind == .array else { throw .batch(.wrongKind(expected: "a list")) }
        let count = batch.count
        guard count <= Self.eventCount else { throw .batch(.tooMany(actual: count, limit: Self.eventCount)) }
        events = batch.elements.enumerated().map { ("batch[\($0.offset)].", $0.element) }
    }

    /// The bytes of a body, inflated where it is compressed.
    static func bytes(of request: HTTPRequest) throws(Refusal) -> [UInt8] {
        guard request.body.count <= byteLimit else { throw .tooLarge }
        switch request.headers["content-encoding"]?.lowercased() {
        case nil, "", "identity": return request.body
        case "gzip", "x-gzip":
            do throws(InflationError) { return try Inflation.inflate(request.body, byteLimit: byteLimit) } catch {
                switch error {
                case .malformed: throw .invalidBody("is not gzip, as content-encoding says")
                case .truncated: throw .invalidBody("ends before its gzip does")
                case .tooLarge: throw .tooLarge
                }
            }
        default: throw .invalidBody("content-encoding must be gzip, or be left out")
        }
    }
}

extension Refusal {
    fileprivate static let tooLarge = Refusal.invalidBody("has more than \(IngestionBody.byteLimit) bytes")
    fileprivate static func batch(_ problem: FieldProblem) -> Refusal {
        .fields([FieldError(field: "batch", problem: problem)])
    }
}
