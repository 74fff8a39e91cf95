/// Bounds on what a request may carry. Beyond a bound the request is refused whole.
package enum AdmissionLimits {
    /// Largest payload APNs takes for a Live Activity, in bytes. Source: Apple, "Generating a remote notification".
    package static let payloadByteCount = 4096
    /// Room that a start of an app with broadcast channels leaves for a channel's identifier, in bytes; Apple names no size, and 24 were
    /// seen.
    package static let channelIDByteCount = 64
    /// Longest `name`, in Unicode scalars. Source: OpenPush specification ("capped at 128 characters").
    package static let nameCharacterCount = 128
    /// Longest identifier (activity id, type, alias label and id, tag key), in UTF-8 bytes.
    package static let identifierByteCount = 128
    /// Most aliases or subscription ids of one request, counted over all labels. Source: OneSignal's contract.
    package static let audienceListCount = 20_000
    /// Most filter entries of one request or segment, operators included. Source: OneSignal's contract.
    package static let filterCount = 200
    /// Most segments a request may include, and most it may exclude.
    package static let segmentCount = 200
    /// Most segments one app may store.
    package static let storedSegmentCount = 10_000
    /// Longest description of a segment, in UTF-8 bytes.
    package static let noteByteCount = 1_024
    /// Longest device, start or update token, in bytes (400 hexadecimal characters). Apple states no size.
    package static let tokenByteCount = 200
    /// Most tags and most aliases of one device.
    package static let tagCount = 100
    package static let aliasCount = 20
    /// Longest tag value, in UTF-8 bytes.
    package static let tagValueByteCount = 256
    /// A date of this many seconds or more is taken for milliseconds and refused. Source: OpenPush specification.
    package static let firstMillisecondDate: Int64 = 100_000_000_000
    /// The last second an identifier of a notification can name. Source: time_ordered_id in schema.sql, 41 bits of milliseconds since 2020.
    package static let lastIdentifierDate: Int64 = 3_776_860_055
    /// Requests one app may send to the start and update routes in any 60 s. Source: OpenPush specification.
    package static let requestsPerMinute = 60
    /// Requests one app may send to the routes of live notifications in any second. Source: Customer.io's App API.
    package static let instanceCallsPerSecond = 10
    /// The longest an instance lives, and how long it does unless told, in seconds. Source: Customer.io's Live Notifications API.
    package static let instanceSeconds: Int64 = 6 * 3600
    /// How long an idempotency key is kept, in days. Source: OpenPush specification.
    package static let idempotencyDays = 30
    /// Starts of one app that may be unfinished at once; beyond it starts are refused until some have finished. At the full rate of
    /// requests an APNs that takes nothing is noticed by the caller after 17 minutes, instead of 8 hours of starts piling up.
    package static let unfinishedStartCount = 1_000
    /// What a caller whose starts pile up is told to wait, in seconds.
    package static let overloadRetrySeconds = 30
    /// How long a state that was refused because no device could be pushed waits for the first device that can be, in seconds: iOS
    /// takes some seconds to hand out an update token, a phone without a good connection longer.
    package static let pendingStateSeconds = 60
}
