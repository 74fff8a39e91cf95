import Calendar

/// The date of RFC 9110, 5.6.7, such as "Sun, 06 Nov 1994 08:49:37 GMT".
enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter seconds: since 1970-01-01 00:00:00 UTC, not negative.
    static func text(secondsSince1970 seconds: Int) -> String {
        let (day, second) = Int64(seconds).quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSince1970: day)
        let dayText = date.day < 10 ? "0\(date.day)" : "\(date.day)"
        let dateText = "\(dayText) \(months[Int(date.month) - 1]) \(date.year)"
        return "\(weekdays[Int(day % 7)]), \(dateText) \(MomentText.clock(secondOfDay: second)) GMT"
    }
}
