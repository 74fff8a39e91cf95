/// Writes moments for people and programs.
package enum MomentText {
    /// As RFC 3339 in UTC with milliseconds, such as `2026-02-28T23:59:59.007Z`.
    package static func rfc3339(millisecondsSince1970 moment: Int64) -> String {
        let (day, milliseconds) = floorDivide(moment, by: 86_400_000)
        let clock = clock(secondOfDay: milliseconds / 1_000)
        return "\(CivilDate(daysSince1970: day))T\(clock).\(padded(milliseconds % 1_000, to: 3))Z"
    }

    /// Such as `23:59:59`.
    ///
    /// - Parameter second: 0 to 86,399.
    package static func clock(secondOfDay second: Int64) -> String {
        [second / 3_600, second / 60 % 60, second % 60].map { padded($0, to: 2) }.joined(separator: ":")
    }
}
