package import Gateway
import JSON

/// Writes the `data` of a message for an Android device: a JSON object whose values are strings.
///
/// With an instance it has the keys that Customer.io's Android SDK reads (docs/decisions/0031). Without one there is no SDK that could
/// read it: the app's own service gets the same object, without those keys.
package struct FCMData: PayloadRenderer {
    /// Most bytes of all names and values together. Source: Google, "About FCM messages".
    package static let byteCount = 4096

    /// The renderer has no state.
    package init() {}

    package func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        var data = JSONWriter()
        data.beginObject()
        if let instance = content.instance {
            data.member("CIO-Delivery-ID", "\(instance.delivery)")
            data.member("CIO-Delivery-Token", "\(instance.delivery)")
            data.member("cioInstanceId", "\(instance.instance)")
        }
        data.member("event", content.event.name)
        if let type = content.instance?.notificationType ?? form.attributesType ?? content.attributesType {
            data.member("notification_type", type)
        }
        data.member("timestamp", String(timestamp))
        let (payload, names) = Self.flattened(content.attributes, content.contentState)
        data.member("payload", String(decoding: payload, as: UTF8.self))
        if let link = content.instance?.deepLink { data.member("link", link) }
        if let alert {
            // Where the SDK hands both to the app, the message's own names win; the app is to get its content.
            if !names.contains(Array("title".utf8)) { data.member("title", alert.title) }
            if let body = alert.body, !names.contains(Array("body".utf8)) { data.member("body", body) }
        }
        data.endObject()
        return data.bytes
    }

    package func countedByteCount(_ body: [UInt8], form: PayloadForm) -> Int {
        Self.countedByteCount(body) ?? body.count
    }

    /// How FCM counts: the bytes of all names and values; nil for anything but an object of strings.
    static func countedByteCount(_ data: [UInt8]) -> Int? {
        guard let root = try? JSONDocument(parsing: data, depthLimit: 2).root, root.kind == .object else { return nil }
        var count = 0
        for (name, value) in root.members {
            guard let text = value.string else { return nil }
            count += name.utf8.count + text.utf8.count
        }
        return count
    }

    /// Both objects in one: every name once, the content state's value where both have it, each value as it came.
    private static func flattened(
        _ attributes: [UInt8]?, _ contentState: [UInt8]
    ) -> (object: [UInt8], names: Set<[UInt8]>) {
        // Of a name that is repeated the last value counts, as with every reader of JSON.
        // Names are compared by their bytes: strings that look alike would be equal.
        var values: [[UInt8]: ArraySlice<UInt8>] = [:]
        var names: [String] = []
        for object in [attributes, contentState] {
            guard let object else { continue }
            guard let root = try? JSONDocument(parsing: object).root else {
                preconditionFailure("what was validated is an object")
            }
            for (name, value) in root.members where values.updateValue(value.rawBytes, forKey: Array(name.utf8)) == nil {
                names.append(name)
            }
        }
        var writer = JSONWriter()
        writer.beginObject()
        for name in names {
            writer.key(name)
            if let value = values[Array(name.utf8)] { writer.raw(value) }
        }
        writer.endObject()
        return (writer.bytes, Set(values.keys))
    }
}
