import Gateway

extension ActivityWindow {
    /// How long after an activity's start on a device an event still reaches it, in seconds, in SQL: `event` names a column.
    static func seconds(of event: String) -> String {
        "case \(event) when \(ActivityEvent.end.rawValue) then \(endSeconds) else \(updateSeconds) end"
    }
}
