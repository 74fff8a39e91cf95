import Gateway
import JSON

extension PushResponse {
    /// Reads an answer that is not 200; a body that is not the expected JSON counts as one without a reason.
    init(status: Int, body: [UInt8], retryAfter: [UInt8]) {
        let root = try? JSONDocument(parsing: body, depthLimit: 4).root
        self.init(
            status: status, reason: root?["reason"]?.string,
            timestamp: root?["timestamp"]?.integer.flatMap { $0 > 0 ? UnixMilliseconds(rawValue: $0) : nil },
            retryAfter: retryAfter.isEmpty ? nil : String(decoding: retryAfter, as: UTF8.self))
    }
}
