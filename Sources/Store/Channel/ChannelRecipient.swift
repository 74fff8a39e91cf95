import Gateway

/// How a channel stands among the devices of `update_token` and `delivery`.
enum ChannelRecipient {
    /// A watermark that no recipient lies behind: pages of updates begin with the channels, then come the devices, from 1.
    static let behindAll: Int64 = -3

    /// The number of an environment's channel: `-1 - environment` in SQL.
    static func device(of environment: PushEnvironment) -> Int64 { -1 - Int64(environment.rawValue) }
}
