import Gateway
import PostgreSQL

/// The same statement for each way in which a call may name its device.
struct DeviceStatement {
    /// What names a device: a column, and what its statements are called.
    struct Key {
        let column: String
        let type: String
        let suffix: String
    }

    let byPushToken: Statement
    let bySubscription: Statement

    init(_ make: (Key) -> Statement) {
        byPushToken = make(Key(column: "push_token", type: "bytea", suffix: ""))
        bySubscription = make(Key(column: "public_id", type: "uuid", suffix: "_by_subscription"))
    }

    subscript(name: DeviceName) -> Statement {
        switch name {
        case .pushToken: byPushToken
        case .subscription: bySubscription
        }
    }

    var both: [Statement] { [byPushToken, bySubscription] }
}

extension DeviceName {
    var parameter: Parameter {
        switch self {
        case .pushToken(let token): .bytes(token)
        case .subscription(let subscription): .uuid(subscription)
        }
    }

    /// The parameters of `DeviceStatements.hasAlias`.
    func parameters(with alias: DeviceAlias, _ application: ApplicationID) -> [Parameter] {
        [.application(application), parameter, .text(alias.label.text), .text(alias.identifier.text)]
    }
}

extension Parameter {
    /// Names of one kind.
    static func names(_ names: [DeviceName]) -> Parameter {
        let tokens = names.compactMap(\.pushToken)
        return tokens.isEmpty ? .uuidArray(names.compactMap { $0.subscription?.bytes }) : .bytesArray(tokens)
    }
}
