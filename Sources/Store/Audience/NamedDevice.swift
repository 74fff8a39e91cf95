import Gateway
import PostgreSQL

/// The same statement for each way in which a call may name its device.
struct DeviceStatement {
    /// What names a device: a column, and what its statements are called.
    struct Key {
        let column: String
        let suffix: String
    }

    let byPushToken: Statement
    let bySubscription: Statement

    init(_ make: (Key) -> Statement) {
        byPushToken = make(Key(column: "push_token", suffix: ""))
        bySubscription = make(Key(column: "public_id", suffix: "_by_subscription"))
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
}
