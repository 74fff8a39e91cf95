/// The numbers of activities, by which the newest one of a name is found.
enum ActivityNumber {
    /// An expression: a new number, above those of all activities of that name, also when the server's clock was set back since the last one.
    ///
    /// - Parameters:
    ///   - app: an expression for the app's number.
    ///   - activityID: one for the name.
    static func next(app: String, activityID: String) -> String {
        """
        greatest(new_time_ordered_id(), (
            select former.activity_number + 1
            from activity as former
            where former.app_id = \(app) and former.activity_id = \(activityID)
            order by former.activity_number desc
            limit 1))
        """
    }
}
