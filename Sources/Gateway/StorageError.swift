/// Why the database did not do what was asked; what an adapter of PostgreSQL may tell the rules.
package enum StorageError: Error, Equatable, Sendable {
    /// No connection could be had, or it broke before the answer: nothing is known to be stored. Try again later.
    case unavailable
    /// PostgreSQL refused the statement; the SQLSTATE says why. Trying again will not help.
    case refused(sqlState: String)

    /// Whether PostgreSQL took offence at the values rather than at the statement or at its own state: the same values will be
    /// refused again, others will not.
    ///
    /// Classes of PostgreSQL's appendix A: 22 data exception, 23 integrity constraint, 54 program limit, XX internal error and
    /// corrupted data (which is also what the store says of values it cannot read).
    package var isAboutValues: Bool {
        guard case .refused(let sqlState) = self else { return false }
        return ["22", "23", "54", "XX"].contains { sqlState.hasPrefix($0) }
    }
}

extension StorageError: CustomStringConvertible {
    /// What happened, for log lines and operators, and what to do about it where that is known.
    package var description: String {
        switch self {
        case .unavailable: "PostgreSQL cannot be reached"
        // Class 42 of PostgreSQL's appendix A: a name that is not there, mostly.
        case .refused(let sqlState) where sqlState.hasPrefix("42"):
            "PostgreSQL refused the statement (SQLSTATE \(sqlState)); is the schema applied? Run: openpushctl schema apply"
        case .refused(let sqlState): "PostgreSQL refused the statement (SQLSTATE \(sqlState))"
        }
    }
}
