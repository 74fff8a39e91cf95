import JSON

/// Reads the debug data of a GOAWAY: APNs was seen to send JSON with a reason, plain text, and nothing.
enum GoAwayReason {
    /// Most characters that reach a log line.
    static let characterLimit = 200

    static func text(_ debugData: [UInt8]) -> String {
        if let reason = try? JSONDocument(parsing: debugData, depthLimit: 4).root["reason"]?.string {
            return String(reason.prefix(characterLimit))
        }
        return String(String(decoding: debugData, as: UTF8.self).prefix(characterLimit))
    }
}
