package import HTTP
import JSON

/// One answer of FCM, as far as it says what became of a message.
package struct FCMAnswer: Sendable {
    /// Longest message of an error that is looked at, in bytes.
    private static let messageByteCount = 1024

    /// The value of `:status`.
    package let status: Int
    /// `errorCode` of the detail of type `FcmError`; nil when there is none.
    package let errorCode: String?
    /// `error.status`, such as `NOT_FOUND`.
    package let errorStatus: String?
    /// `error.message`, for words that tell what it is about; never logged.
    package let message: String
    /// Fields that the detail of type `BadRequest` complains about.
    package let violatedFields: [String]
    /// What the detail of type `QuotaFailure` says is used up, subjects and descriptions; empty when there is none.
    package let exhaustedQuotas: [String]
    /// The value of `retry-after`.
    package let retryAfter: String?

    /// Reads an answer; a body that is not the expected JSON counts as one without an error.
    package init(_ response: HTTPClientResponse) {
        status = response.status
        retryAfter = response.headers["retry-after"]
        guard response.status != 200, let error = try? JSONDocument(parsing: response.body, depthLimit: 16).root["error"] else {
            (errorCode, errorStatus, message, violatedFields, exhaustedQuotas) = (nil, nil, "", [], [])
            return
        }
        let details = error["details"]?.elements ?? []
        errorCode = details.lazy.compactMap { $0["errorCode"]?.string }.first
        errorStatus = error["status"]?.string
        message = String(decoding: (error["message"]?.string ?? "").utf8.prefix(Self.messageByteCount), as: UTF8.self)
        violatedFields = details.flatMap { $0["fieldViolations"]?.elements ?? [] }.compactMap { $0["field"]?.string }
        exhaustedQuotas = details.filter { $0["@type"]?.string?.hasSuffix("google.rpc.QuotaFailure") == true }
            .flatMap { $0["violations"]?.elements ?? [] }
            .flatMap { violation in ["subject", "description"].compactMap { violation[$0]?.string?.lowercased() } }
    }
}
