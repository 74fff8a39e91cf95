/// What will be answered on a stream, and what the records need to know of it.
struct PendingAnswer {
    /// Number of the request in the log.
    let requestNumber: Int
    let answer: PushAnswer
    /// The sender's `apns-id`; nil when it sent none, or one that is no UUID.
    let messageID: String?
    let token: [UInt8]?
    let tokenIndex: Int?
    let event: PayloadReading.Event?
    /// The channel that an accepted start puts the device on.
    var channelID: String?
    /// Whether it answers a request of channels, whose header fields are named otherwise.
    var isOfChannels = false
    /// Whether a script wants this stream to wait for ever.
    var isSilent = false
}
