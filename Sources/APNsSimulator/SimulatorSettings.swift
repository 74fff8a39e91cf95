/// What can be changed while the simulator runs.
package struct SimulatorSettings: Equatable, Sendable {
    /// Streams a connection may have open before its first valid provider token. Default 1, as Apple documents.
    package var initialConcurrentStreams: UInt32 = 1
    /// Streams a connection may have open afterwards. Default 1000; 500, 1000 and 1500 were seen of Apple.
    package var concurrentStreams: UInt32 = 1000
    /// How long every answer waits, in milliseconds; drawn evenly. Default none.
    package var latencyMilliseconds: ClosedRange<Int64> = 0...0
    /// Whether requests are written down at all. Off for benchmarks; counters go on.
    package var recordsRequests = true
    /// Most requests written down; the oldest go first. Default 1,000,000, of about 200 bytes each beside header fields and body.
    package var recordedRequestLimit = 1_000_000
    /// Most bytes of header fields and bodies kept; the oldest go first and leave the rest of their record. Default 64 MiB.
    package var recordedByteLimit = 64 << 20
    /// Whether payloads are parsed, for their event, their timestamp and the errors of their shape. Default true.
    package var readsPayloads = true
    /// Whether a well-formed token that nobody declared is valid where it is first seen. Default true.
    package var acceptsUnknownTokens = true
    /// Whether a signature in DER counts. Default false: RFC 7518 asks for r and s.
    package var acceptsDERSignatures = false
    /// Age from which a provider token has expired, in seconds. Default 3600, as Apple documents.
    package var providerTokenLifetimeSeconds: Int64 = 3600
    /// How far ahead of the clock a provider token may be issued, in seconds. Apple gives no number. Default 300.
    package var clockToleranceSeconds: Int64 = 300
    /// Time in which a connection may change its provider token once, in seconds. Default 1200, as Apple documents.
    package var providerTokenUpdateSeconds: Int64 = 1200
    /// Added to the simulator's clock, in seconds; any sign. Default 0.
    package var clockOffsetSeconds: Int64 = 0
    /// Whether the apps may use broadcast channels, which a box in Apple's portal says. Default true.
    package var broadcastIsEnabled = true
    /// Channels of an app and environment. Default 10,000, as Apple documents.
    package var channelLimit = 10_000
    /// Whether reasons are spelt as the documentation of channels prints them where the wire differs: `FeatureNotEnabled`. Default false.
    package var spellsReasonsAsDocumented = false
    /// Whether connections for the management of channels are taken. Off, they end as soon as they are made.
    package var takesManagement = true
    /// Whether the push listeners are open. Off, the ports refuse connections; on again, they are the same ports.
    package var listens = true

    /// The defaults.
    package init() {}
}
