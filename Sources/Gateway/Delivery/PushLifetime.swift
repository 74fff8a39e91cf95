/// How long APNs keeps a push for a phone that is away, and how long it is retried, in seconds from its acceptance.
package enum PushLifetime {
    /// A start or update lives as long as an activity takes updates, an end as long as the card can stay on the lock screen.
    ///
    /// A phone that gets a start late registers its update token then, and is sent the latest state or the end at once.
    package static func seconds(of event: ActivityEvent) -> Int64 {
        switch event {
        case .start, .update: ActivityWindow.updateSeconds
        case .end: ActivityWindow.endSeconds
        }
    }
}
