import Gateway
import HTTP
import JSON
import Security

/// Reads the bodies of MoEngage's broadcast routes: strict, and everything that is wrong is reported.
enum BroadcastRequests {
    /// Reads a start.
    static func start(_ request: HTTPRequest) throws(Refusal) -> BroadcastStart {
        var reader = try PayloadReader(request)
        let campaign = reader.identifier("broadcast_live_activity_id")
        let instance = reader.identifier("instance_id", isRequired: false, mayHaveSlash: false)
        let ios = reader.nested("ios") { ios in
            let dismissalDate = ios.seconds("dismissal_date")
            let type = ios.identifier("attribute_type")
            let attributes = ios.object("attribute_info")
            let state = readState(&ios, staleDate: nil, dismissalDate: dismissalDate)
            return type.flatMap { type in attributes.flatMap { attributes in state.map { (type, attributes, $0) } } }
        }
        try reader.finish()
        guard let campaign, let (type, attributes, state) = ios else {
            preconditionFailure("a required field is neither there nor reported")
        }
        return BroadcastStart(
            campaign: campaign, instanceID: instance, attributesType: type, attributes: attributes, state: state)
    }

    /// Reads an update or an end, which have the same body.
    static func update(_ request: HTTPRequest, event: ActivityEvent) throws(Refusal) -> BroadcastUpdate {
        var reader = try PayloadReader(request)
        let campaign = reader.identifier("broadcast_live_activity_id")
        let instance = reader.identifier("instance_id", isRequired: false, mayHaveSlash: false)
        let state = reader.nested("ios") { ios in
            let dismissalDate = ios.seconds("dismissal_date")
            let staleDate = ios.seconds("stale_date")
            return readState(&ios, staleDate: staleDate, dismissalDate: dismissalDate)
        }
        try reader.finish()
        guard let campaign, let state else { preconditionFailure("a required field is neither there nor reported") }
        return BroadcastUpdate(
            campaign: campaign, instanceID: instance, event: event, state: state,
            digest: SHA256.digest(Array(event.name.utf8) + [0] + request.body))
    }

    private static func readState(_ ios: inout PayloadReader, staleDate: Int64?, dismissalDate: Int64?) -> BroadcastState? {
        let contentState = ios.object("content_state")
        let alert = ios.nested("alert") { alert -> (LocalizedAlert, String?)? in
            let title = alert.text("title")
            let subtitle = alert.text("subtitle", isRequired: false)
            let body = readBody(&alert)
            let sound = alert.text("sound", isRequired: false)
            guard let title, let body else { return nil }
            let shown = LocalizedAlert(
                language: "en", title: title, body: body.text, subtitle: subtitle, bodyObject: body.object)
            return (shown, sound.flatMap { $0.isEmpty ? nil : $0 })
        }
        guard let contentState, let (shown, sound) = alert else { return nil }
        return BroadcastState(
            contentState: contentState, alert: shown, sound: sound, staleDate: staleDate, dismissalDate: dismissalDate)
    }

    /// A text or an object.
    private static func readBody(_ alert: inout PayloadReader) -> (text: String?, object: [UInt8]?)? {
        guard let value = alert.value("body", isRequired: true) else { return nil }
        switch value.kind {
        case .string: return (value.string, nil)
        case .object: return (nil, Array(value.rawBytes))
        default:
            alert.report("body", .string)
            alert.report("body", .dictionary)
            return nil
        }
    }
}
