import HTTP
import JSON

/// Turns an answer into the response Apple sends for it.
enum AppleResponse {
    /// - Parameters:
    ///   - messageID: the `apns-id`, or the `apns-request-id` of a request of channels, to echo; nil makes one.
    ///   - isOfChannels: whether the request was one of channels.
    static func response(
        for answer: PushAnswer, messageID: String?, environment: PushEnvironment, isOfChannels: Bool = false
    ) -> HTTPResponse {
        var headers = HTTPHeaders()
        headers.append(isOfChannels ? "apns-request-id" : "apns-id", messageID ?? randomUUID())
        if environment == .sandbox, !isOfChannels { headers.append("apns-unique-id", randomUUID()) }
        let body = answer.body ?? body(for: answer)
        if !body.isEmpty, answer.headers["content-type"] == nil { headers.append("content-type", "application/json") }
        for field in answer.headers { headers.append(field.name, field.value) }
        return HTTPResponse(status: answer.status, headers: headers, body: body)
    }

    private static func body(for answer: PushAnswer) -> [UInt8] {
        guard let reason = answer.reason else { return [] }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("reason", reason)
        if let timestamp = answer.timestampMilliseconds { writer.member("timestamp", timestamp) }
        writer.endObject()
        return writer.bytes
    }

    /// A random UUID of version 4 in lower case.
    static func randomUUID() -> String {
        var generator = SystemRandomNumberGenerator()
        let high = (generator.next() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (generator.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for position in 0..<32 {
            if [8, 12, 16, 20].contains(position) { text.append(UInt8(ascii: "-")) }
            let half = position < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> (60 - 4 * (position % 16))) & 0xF
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
