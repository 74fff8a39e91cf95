/// How much a log line matters.
package enum LogLevel: Int, Comparable, CaseIterable, Sendable, CustomStringConvertible {
    /// What a developer wants to see; several lines for a request.
    case debug
    /// What an operator wants to see: starts, stops, changes of state.
    case info
    /// Something is wrong and is being dealt with.
    case warning
    /// Something was given up, or needs a person.
    case error

    /// The level of that name in lower case; nil for any other text.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = level
    }

    package var description: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// The form of a log line.
package enum LogFormat: String, CaseIterable, Sendable {
    /// Time, level, message, then `key=value`.
    case text
    /// One JSON object a line.
    case json
}
