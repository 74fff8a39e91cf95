/// What a request of broadcast channels wants.
package enum ChannelOperation: String, CaseIterable, Sendable {
    case create, read, delete, list
    /// A push to all subscribers.
    case publish

    /// The HTTP status of success.
    var successStatus: Int {
        switch self {
        case .create: 201
        case .delete: 204
        case .read, .list, .publish: 200
        }
    }
}

/// Whether a channel keeps its latest message for subscribers that come online later.
package enum ChannelStoragePolicy: Int64, Sendable {
    /// `message-storage-policy` 0: nothing is kept, and only 0 may be the expiration of a message.
    case none = 0
    /// `message-storage-policy` 1: the most recent message is kept.
    case mostRecent = 1
}
