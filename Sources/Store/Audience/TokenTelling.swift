/// When a token was last told: `registered_at` is the first time, and `told_at` one of the later ones, null before the second.
///
/// APNs says since when a token is dead; one that was told again after that is not meant (Apple: stop until the device registers again).
enum TokenTelling {
    /// A token that is told again and again is written down once in so many seconds: most apps tell theirs at every launch.
    static let seconds = 3_600
    /// A doubt is settled when a token was not told for so many seconds.
    private static let doubtSeconds = 86_400

    /// Whether a row of a token is to be written when it is told again.
    static func isStale(_ alias: String) -> String {
        "(\(alias).told_at is null or \(alias).told_at <= now() - \(seconds) * interval '1 second')"
    }

    // APNs counts milliseconds: a token told in the very millisecond may be the one it means. In the hour behind `told_at` the token may
    // have been told again: it stays. The day keeps one whose app was deleted within that hour from being pushed for ever.
    /// Whether a row of a token was told for the last time before `since`.
    static func isOlder(_ alias: String, than since: String) -> String {
        """
        date_trunc('milliseconds', \(alias).registered_at) <= \(since) and (
            \(alias).told_at is null
            or \(alias).told_at <= \(since) - \(seconds) * interval '1 second'
            or date_trunc('milliseconds', \(alias).told_at) <= \(since)
                and \(alias).told_at <= now() - \(doubtSeconds) * interval '1 second')
        """
    }
}
