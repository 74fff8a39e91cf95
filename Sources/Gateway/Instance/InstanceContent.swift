import JSON

/// What is pushed of a live notification.
package enum InstanceContent {
    /// The Swift type where no SDK said one: a built-in template's, else the notification type's own name.
    package static func usualAttributesType(of notificationType: String) -> String {
        InstanceTemplate(rawValue: notificationType)?.attributesType ?? notificationType
    }

    /// The types under which devices hold start tokens of a notification type: iOS under the Swift type that their app's version has,
    /// Android under the notification type itself.
    package static func types(of notificationType: String, registered: [String]) -> [String] {
        var types: [ExactText] = []
        for type in registered + [usualAttributesType(of: notificationType), notificationType] {
            if !types.contains(ExactText(type)) { types.append(ExactText(type)) }
        }
        return types.map(\.text)
    }

    static func start(
        _ request: InstanceStart, attributesType: String, id: InstanceID, delivery: InstanceID
    ) -> PushContent {
        PushContent(
            event: .start, attributesType: attributesType, attributes: request.attributes, contentState: request.contentState,
            alerts: alerts(request.alert), sound: request.alert?.sound, staleDate: nil, dismissalDate: nil, relevanceScore: nil,
            priority: 10,
            instance: InstanceMark(
                instance: id, delivery: delivery, notificationType: request.notificationType, deepLink: request.deepLink))
    }

    /// Android renders each push by itself, so that it needs the attributes every time.
    static func update(
        _ event: ActivityEvent, attributes: [UInt8], contentState: [UInt8], alert: InstanceAlert?, mark: InstanceMark
    ) -> PushContent {
        PushContent(
            event: event, attributesType: nil, attributes: attributes, contentState: contentState, alerts: alerts(alert),
            sound: alert?.sound, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10, instance: mark)
    }

    private static func alerts(_ alert: InstanceAlert?) -> [LocalizedAlert] {
        alert.map { [LocalizedAlert(language: "en", title: $0.title, body: $0.body)] } ?? []
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

extension PushContent {
    /// The attributes as ActivityKit is to decode them: the caller's object, byte for byte, with what Customer.io's or MoEngage's SDK
    /// needs at its end.
    package var deviceAttributes: [UInt8]? {
        guard let attributes else { return nil }
        if let start = campaign?.start {
            return InstanceContent.adding(CampaignMark.name, to: attributes) { start.write(to: &$0) }
        }
        guard let instance else { return attributes }
        return InstanceContent.adding("cioInstanceId", to: attributes) { $0.string("\(instance.instance)") }
    }

    /// The content state, likewise.
    ///
    /// The token comes back as `recipient` of what the SDK reports; it names the delivery as the identifier does.
    package var deviceContentState: [UInt8] {
        if let campaign {
            return InstanceContent.adding(CampaignMark.name, to: contentState) { campaign.writeState(to: &$0) }
        }
        guard let instance else { return contentState }
        return InstanceContent.adding("cioMetadata", to: contentState) { writer in
            writer.beginObject()
            writer.member("deliveryId", "\(instance.delivery)")
            writer.member("deliveryToken", "\(instance.delivery)")
            if let deepLink = instance.deepLink { writer.member("deepLink", deepLink) }
            writer.endObject()
        }
    }
}
