import HTTP
import JSON
import Security

/// The control requests about broadcast channels.
extension ControlHandler {
    /// `GET /channels`: those of an app, of an environment, or all.
    func channels(_ request: HTTPRequest) throws(ControlError) -> HTTPResponse {
        var bundleID: String?
        var environment: PushEnvironment?
        for (name, value) in request.queryItems ?? [] {
            switch name {
            case "bundle_id": bundleID = value
            case "environment":
                environment = PushEnvironment(rawValue: value)
                if environment == nil { throw ControlError("environment cannot be \(value)") }
            default: throw ControlError("\(name) is not known")
            }
        }
        let records = simulator.channels(bundleID: bundleID, environment: environment)
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.key("channels")
            writer.beginArray()
            for record in records { ControlHandler.write(record, to: &writer) }
            writer.endArray()
            writer.endObject()
        }
    }

    /// `POST /channels`: makes one as another program does.
    func makeChannel(_ request: HTTPRequest) throws(ControlError) -> HTTPResponse {
        var object = try ControlObject(ControlHandler.json(request), name: "channel")
        let bundleID = try object.requiredString("bundle_id")
        let environment = try object.choice("environment", PushEnvironment.self) ?? .production
        let policy = try object.integer("policy", in: 0...1).flatMap(ChannelStoragePolicy.init) ?? .mostRecent
        try object.finish()
        let identifier = simulator.makeChannel(bundleID: bundleID, environment: environment, policy: policy)
        return ControlHandler.success(201) { writer in
            writer.beginObject()
            writer.member("channel_id", identifier)
            writer.endObject()
        }
    }

    /// `DELETE /channels?channel_id=`: deletes one as another program does.
    func deleteChannel(_ request: HTTPRequest) throws(ControlError) -> HTTPResponse {
        guard let identifier = (request.queryItems ?? []).first(where: { $0.0 == "channel_id" })?.1 else {
            throw ControlError("channel_id is missing")
        }
        return simulator.deleteChannel(identifier) ? HTTPResponse(status: 204) : ControlHandler.notFound
    }

    /// `POST /subscriptions`: puts a device, or a number of devices that nobody asks about, on a channel.
    func subscribe(_ request: HTTPRequest) throws(ControlError) -> HTTPResponse {
        var object = try ControlObject(ControlHandler.json(request), name: "subscription")
        let channelID = try object.requiredString("channel_id")
        let token = try object.token("token")
        let environment = try object.choice("environment", PushEnvironment.self) ?? .production
        let count = try object.integer("count", in: 1...1_000_000_000)
        try object.finish()
        let isDone: Bool
        switch (token, count) {
        case (let token?, nil): isDone = simulator.subscribe(token, to: channelID, environment: environment)
        case (nil, let count?): isDone = simulator.subscribe(count: Int(count), to: channelID)
        default: throw ControlError("a subscription has either a token or a count")
        }
        guard isDone else { return ControlHandler.notFound }
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.member("subscribed", count ?? 1)
            writer.endObject()
        }
    }

    /// `GET /subscriptions?token=`: the channels a device is on, and what it was delivered.
    func subscriptions(_ parameters: RequestParameters) throws(ControlError) -> HTTPResponse {
        guard let token = parameters.query.token else { throw ControlError("token is missing") }
        return ControlHandler.success { writer in
            writer.beginObject()
            writer.key("subscriptions")
            writer.beginArray()
            for subscription in simulator.subscriptions(of: token) {
                writer.beginObject()
                writer.member("channel_id", subscription.channelID)
                writer.member("environment", subscription.environment.rawValue)
                ControlHandler.write(subscription.messages, to: &writer)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
    }

    private static func write(_ record: ChannelRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("channel_id", record.identifier)
        writer.member("environment", record.environment.rawValue)
        writer.member("bundle_id", record.bundleID)
        writer.member("policy", record.policy.rawValue)
        writer.member("deleted", record.isDeleted)
        writer.member("subscribers", record.subscriberCount)
        writer.member("message_count", record.messageCount)
        writer.member("deliveries", record.deliveryCount)
        writer.member("timestamps_falling", record.fallingTimestampCount)
        writer.member("after_end", record.afterEndCount)
        write(record.messages, to: &writer)
        writer.endObject()
    }

    private static func write(_ messages: [ChannelMessage], to writer: inout JSONWriter) {
        writer.key("messages")
        writer.beginArray()
        for message in messages {
            writer.beginObject()
            writer.member("number", message.number)
            writer.member("received_at", message.receivedAt)
            writer.member("expiration", message.expiresAt)
            writer.member("event", message.event?.rawValue)
            writer.member("timestamp", message.timestamp)
            writer.member("body", Base64.encode(message.payload))
            writer.endObject()
        }
        writer.endArray()
    }
}
