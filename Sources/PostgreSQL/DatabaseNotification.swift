/// What NOTIFY sent.
package struct DatabaseNotification: Sendable, Equatable {
    package let channel: String
    /// Empty when there is none; at most 8000 bytes.
    package let payload: String
}
