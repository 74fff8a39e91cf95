import JSON

/// A device token as POST /tokens declares it.
package struct DeviceTokenDeclaration: Sendable {
    package var token: [UInt8]
    package var environment: PushEnvironment
    package var state: DeviceTokenState
    /// The only topic the token takes; nil takes any.
    package var topic: String?

    /// A valid token of an environment, unless the arguments say otherwise.
    package init(_ token: [UInt8], in environment: PushEnvironment, state: DeviceTokenState = .valid, topic: String? = nil) {
        self.token = token
        self.environment = environment
        self.state = state
        self.topic = topic
    }
}

/// Reads what the control listener takes about device tokens and keys.
enum TokenReader {
    private enum StateName: String {
        case valid, bad, unregistered, expired
        case wrongTopic = "wrong-topic"
    }

    /// - Parameter now: milliseconds since 1970, where the request names no `since`.
    static func declaration(_ value: JSONValue, now: Int64) throws(ControlError) -> DeviceTokenDeclaration {
        var object = try ControlObject(value, name: "token")
        guard let token = try object.token("token") else { throw ControlError("token.token is missing") }
        let environment = try object.choice("environment", PushEnvironment.self) ?? .production
        let since = try object.integer("since", in: 0...Int64.max) ?? now
        let topic = try object.string("topic")
        let state: DeviceTokenState =
            switch try object.choice("state", StateName.self) ?? .valid {
            case .valid: .valid
            case .bad: .bad
            case .unregistered: .unregistered(since: since)
            case .expired: .expired(since: since)
            case .wrongTopic: .wrongTopic
            }
        try object.finish()
        return DeviceTokenDeclaration(token, in: environment, state: state, topic: topic)
    }
}
