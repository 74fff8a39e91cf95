/// The internal number of an app; small, and the first column of every hot key.
package struct ApplicationID: Hashable, Sendable, CustomStringConvertible {
    /// The value of `app.app_id`.
    package let rawValue: Int32
    /// Wraps a value of `app.app_id`.
    package init(rawValue: Int32) { self.rawValue = rawValue }
    package var description: String { "\(rawValue)" }
}

/// The internal number of a notification: 41 bits of milliseconds since 2020-01-01, then 22 bits of sequence.
///
/// Rises with time, so that a partition by range of this number is a partition by time.
package struct NotificationID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The value of `notification.notification_id`.
    package let rawValue: Int64
    /// Wraps a value of `notification.notification_id`.
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static func < (left: NotificationID, right: NotificationID) -> Bool { left.rawValue < right.rawValue }
    package var description: String { "\(rawValue)" }
}

/// The internal number of one running daemon's fan-out worker; new at every start.
package struct WorkerID: Hashable, Sendable, CustomStringConvertible {
    /// The value of `worker.worker_id`.
    package let rawValue: Int32
    /// Wraps a value of `worker.worker_id`.
    package init(rawValue: Int32) { self.rawValue = rawValue }
    package var description: String { "\(rawValue)" }
}

/// A moment in milliseconds since 1970-01-01 UTC, as APNs states it in the `timestamp` of a 410.
package struct UnixMilliseconds: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01 UTC.
    package let rawValue: Int64
    /// Wraps milliseconds since 1970-01-01 UTC.
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static func < (left: UnixMilliseconds, right: UnixMilliseconds) -> Bool { left.rawValue < right.rawValue }
    /// Whole seconds since 1970-01-01 UTC, rounded down.
    package var seconds: Int64 { rawValue >= 0 ? rawValue / 1000 : (rawValue - 999) / 1000 }
}
