import JSON

/// What a payload says of itself, and what is wrong with its shape.
///
/// APNs takes such a push with 200 and the device drops it in silence, so nobody would notice without this.
/// Source: Apple, "Starting and updating Live Activities with ActivityKit push notifications".
package struct PayloadReading: Equatable, Sendable {
    /// `aps.event`.
    package enum Event: String, Sendable {
        case start, update, end
    }
    package var event: Event?
    /// `aps.input-push-channel`: the channel a start puts the device on.
    package var channelID: String?
    /// `aps.timestamp`, in seconds since 1970.
    package var timestamp: Int64?
    /// One sentence each; empty when a device would take the push.
    package var shapeErrors: [String] = []

    /// Nothing was read.
    package init() {}

    /// Reads the payload of a push.
    ///
    /// - Parameter now: seconds since 1970, for the range of `timestamp`.
    package init(payload: [UInt8], isLiveActivity: Bool, now: Int64) {
        guard let document = try? JSONDocument(parsing: payload) else {
            shapeErrors = ["the payload is not JSON"]
            return
        }
        guard document.root.kind == .object, let aps = document.root["aps"], aps.kind == .object else {
            shapeErrors = ["aps is not an object"]
            return
        }
        guard isLiveActivity else { return }
        var checks = LiveActivityShape(aps: aps, now: now)
        checks.run()
        event = checks.event
        channelID = aps["input-push-channel"]?.string
        timestamp = checks.timestamp
        shapeErrors = checks.errors
    }
}
