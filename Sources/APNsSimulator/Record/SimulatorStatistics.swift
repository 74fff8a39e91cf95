/// Sums over everything since the start or the last reset.
package struct SimulatorStatistics: Sendable {
    package var tally: Tally
    /// Distinct provider tokens that were let in, by `TEAM.KEY`.
    package var providerTokenCounts: [String: Int]
    /// Device tokens that were declared or seen.
    package var tokenCount: Int
    /// Pushes with a lower `aps.timestamp` than one received before for the same device token.
    package var fallingTimestampCount: Int
    /// Pushes with the highest `aps.timestamp` received before for the same device token.
    package var equalTimestampCount: Int
    /// Pushes received for a device token after its `end` was accepted.
    package var afterEndCount: Int
    /// Requests and bytes that are kept.
    package var recordedRequestCount: Int
    package var recordedByteCount: Int
}
