/// Which provider tokens a connection was used under, and which of them APNs called expired on it.
///
/// Where APNs has refused a token, it goes on refusing newer ones, whatever they are worth.
struct ProviderTokenUse {
    /// The generation of the newest request; 0 before the first.
    private var latest = 0
    private var oldestExpired: Int?

    /// A request went out under the token of that generation.
    mutating func used(_ generation: Int) { latest = generation }

    /// Whether newer tokens do not belong here, since one of that generation or before was called expired somewhere.
    func isSpoilt(by generation: Int) -> Bool { latest > 0 && latest <= generation }

    /// APNs called the token of that generation expired. Returns whether that says something about it: not where it did so of an older
    /// one before.
    mutating func calledExpired(_ generation: Int) -> Bool {
        let oldest = min(oldestExpired ?? generation, generation)
        oldestExpired = oldest
        return oldest == generation
    }
}
