/// Everything that is wrong with the environment, sorted by variable.
package struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One or more.
    package let mistakes: [ConfigurationMistake]

    /// One line for each mistake.
    package var description: String { mistakes.map(\.description).joined(separator: "\n") }
}

/// What is wrong with one variable. Values are never shown: a secret may stand where it does not belong.
package struct ConfigurationMistake: Equatable, Sendable, CustomStringConvertible {
    /// What is wrong.
    package enum Problem: Equatable, Sendable {
        /// It is required.
        case missing
        /// Nothing stands in it.
        case empty
        /// No variable has this name.
        case unknown
        /// It is given directly and as a file.
        case givenTwice
        /// The file cannot be read, for this reason.
        case unreadable(String)
        /// The file's contents are no UTF-8 text.
        case notText
        /// No whole number in this range.
        case outOfRange(ClosedRange<Int>)
        /// None of these.
        case notOneOf([String])
        /// Another variable must be given with it.
        case needs(ConfigurationVariable)
        /// Not what is described here.
        case malformed(expected: String)
        /// It was read, but cannot be used, for this reason.
        case unusable(String)
    }

    /// The name of the variable in the form that was given; the direct form when it was not given at all.
    package let variable: String
    /// What is wrong with it.
    package let problem: Problem

    package var description: String { "\(variable): \(explanation)" }

    private var explanation: String {
        switch problem {
        case .missing: "is required"
        case .empty: "is empty; leave it out for the default"
        case .unknown: "is not a variable of this program"
        case .givenTwice: "is given both directly and as \(variable)_FILE"
        case .unreadable(let reason): "its file cannot be read: \(reason)"
        case .notText: "its file holds no UTF-8 text"
        case .outOfRange(let range): "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .notOneOf(let names): "must be one of \(names.joined(separator: ", "))"
        case .needs(let other): "needs \(other.rawValue) as well"
        case .malformed(let expected): "must be \(expected)"
        case .unusable(let reason): "cannot be used: \(reason)"
        }
    }
}
