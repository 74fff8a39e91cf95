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
