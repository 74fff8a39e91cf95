import JSON

/// What a device gets of a live notification: the caller's objects, byte for byte, with what the SDK needs put at their ends.
package enum InstanceContent {
    /// The Swift type where no SDK said one: a built-in template's, else the notification type's own name.
    package static func usualAttributesType(of notificationType: String) -> String {
        InstanceTemplate(rawValue: notificationType)?.attributesType ?? notificationType
    }

    static func start(
        _ request: InstanceStart, attributesType: String, id: InstanceID, delivery: InstanceID
    ) -> PushContent {
        PushContent(
            event: .start, attributesType: attributesType,
            attributes: adding("cioInstanceId", to: request.attributes) { $0.string("\(id)") },
            contentState: contentState(request.contentState, delivery: delivery, deepLink: request.deepLink),
            alerts: alerts(request.alert), sound: request.alert?.sound, staleDate: nil, dismissalDate: nil, relevanceScore: nil,
            priority: 10)
    }

    static func update(
        _ event: ActivityEvent, contentState: [UInt8], alert: InstanceAlert?, delivery: InstanceID, deepLink: String?
    ) -> PushContent {
        PushContent(
            event: event, attributesType: nil, attributes: nil,
            contentState: self.contentState(contentState, delivery: delivery, deepLink: deepLink), alerts: alerts(alert),
            sound: alert?.sound, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
    }

    private static func alerts(_ alert: InstanceAlert?) -> [LocalizedAlert] {
        alert.map { [LocalizedAlert(language: "en", title: $0.title, body: $0.body)] } ?? []
    }

    /// The token comes back as `recipient` of what the SDK reports; it names the delivery as the identifier does.
    private static func contentState(_ object: [UInt8], delivery: InstanceID, deepLink: String?) -> [UInt8] {
        adding("cioMetadata", to: object) { writer in
            writer.beginObject()
            writer.member("deliveryId", "\(delivery)")
            writer.member("deliveryToken", "\(delivery)")
            if let deepLink { writer.member("deepLink", deepLink) }
            writer.endObject()
        }
    }

    /// The object with one more member, which takes the place of the caller's member of that name.
    ///
    /// Everything else stays as it came, to the byte.
    static func adding(_ name: String, to object: [UInt8], _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        guard let document = try? JSONDocument(parsing: object), document.root.kind == .object else {
            preconditionFailure("what was validated is an object")
        }
        var writer = JSONWriter()
        writer.beginObject()
        // Only an object that has the name is written anew.
        let members = document.root.members
        if members.contains(where: { $0.key == name }) {
            for (key, value) in members where key != name {
                writer.key(key)
                writer.raw(Array(value.rawBytes))
            }
            writer.key(name)
            write(&writer)
            writer.endObject()
            return writer.bytes
        }
        writer.key(name)
        write(&writer)
        writer.endObject()
        let last = document.root.rawBytes.dropLast()
        return Array(last) + (members.isEmpty ? [] : [UInt8(ascii: ",")]) + writer.bytes.dropFirst()
    }
}
