import Gateway
import JSON

/// How a push is kept in `notification.content`: a JSON text in which every literal of the request stands as it came.
extension PushContent {
    /// The request's own depth limit, and the two levels this text adds.
    private static let storedDepthLimit = 66

    var stored: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("attributes_type", attributesType)
        if let attributes {
            writer.key("attributes")
            writer.raw(attributes)
        }
        writer.key("content_state")
        writer.raw(contentState)
        writer.key("alerts")
        writer.beginArray()
        for alert in alerts {
            writer.beginObject()
            writer.member("language", alert.language)
            writer.member("title", alert.title)
            writer.member("body", alert.body)
            if let subtitle = alert.subtitle { writer.member("subtitle", subtitle) }
            if let object = alert.bodyObject {
                writer.key("body_object")
                writer.raw(object)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.member("sound", sound)
        writer.member("stale_date", staleDate)
        writer.member("dismissal_date", dismissalDate)
        if let relevanceScore {
            writer.key("relevance_score")
            writer.raw(relevanceScore)
        }
        writer.member("priority", priority)
        if let instance {
            writer.key("instance")
            instance.write(to: &writer)
        }
        if let campaign {
            writer.key("campaign")
            campaign.write(to: &writer)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Nil for what this version does not understand.
    init?(stored: [UInt8], event: ActivityEvent) {
        guard let root = try? JSONDocument(parsing: stored, depthLimit: Self.storedDepthLimit).root,
            let contentState = root["content_state"], let priority = root["priority"]?.integer
        else { return nil }
        let alerts = (root["alerts"]?.elements ?? []).map { alert in
            LocalizedAlert(
                language: alert["language"]?.string ?? "", title: alert["title"]?.string ?? "", body: alert["body"]?.string,
                subtitle: alert["subtitle"]?.string, bodyObject: alert["body_object"].map { Array($0.rawBytes) })
        }
        self.init(
            event: event, attributesType: root["attributes_type"]?.string,
            attributes: root["attributes"].map { Array($0.rawBytes) }, contentState: Array(contentState.rawBytes),
            alerts: alerts, sound: root["sound"]?.string, staleDate: root["stale_date"]?.integer,
            dismissalDate: root["dismissal_date"]?.integer, relevanceScore: root["relevance_score"].map { Array($0.rawBytes) },
            priority: Int(priority), instance: root["instance"].flatMap { InstanceMark(stored: $0) },
            campaign: root["campaign"].flatMap { CampaignMark(stored: $0) })
    }
}

extension InstanceMark {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("instance", "\(instance)")
        writer.member("delivery", "\(delivery)")
        writer.member("notification_type", notificationType)
        writer.member("deep_link", deepLink)
        writer.endObject()
    }

    fileprivate init?(stored: JSONValue) {
        guard let instance = stored["instance"]?.string.flatMap({ InstanceID($0) }),
            let delivery = stored["delivery"]?.string.flatMap({ InstanceID($0) }),
            let notificationType = stored["notification_type"]?.string
        else { return nil }
        self.init(
            instance: instance, delivery: delivery, notificationType: notificationType,
            deepLink: stored["deep_link"]?.string)
    }
}

extension CampaignMark {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("instance", instanceID)
        if let start {
            writer.member("id", "\(start.campaign)")
            writer.member("name", start.campaignName)
            writer.member("attributes_type", start.attributesType)
            writer.member("app", "\(start.application)")
        }
        writer.endObject()
    }

    fileprivate init?(stored: JSONValue) {
        guard let instanceID = stored["instance"]?.string else { return nil }
        var start: Start?
        if let campaign = stored["id"]?.string.flatMap({ UUID($0) }) {
            guard let name = stored["name"]?.string, let type = stored["attributes_type"]?.string,
                let application = stored["app"]?.string.flatMap({ UUID($0) })
            else { return nil }
            start = Start(campaign: campaign, campaignName: name, attributesType: type, application: application)
        }
        self.init(instanceID: instanceID, start: start)
    }
}
