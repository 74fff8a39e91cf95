/// Why the database did not do what was asked; what an adapter of PostgreSQL may tell the rules.
package enum StorageError: Error, Equatable, Sendable {
    /// No connection could be had, or it broke before the answer: nothing is known to be stored. Try again later.
    case unavailable
    /// PostgreSQL refused the statement; the SQLSTATE says why. Trying again will not help.
    case refused(sqlState: String)
}
