import Gateway

/// Why a command did not do what was asked, and the exit status that says so.
struct CommandFailure: Error, CustomStringConvertible {
    /// What happened, to what, and what to do.
    let description: String
    /// An exit status of sysexits(3), or 1.
    let status: Int32

    /// The command was typed wrongly.
    static func usage(_ text: String) -> CommandFailure { CommandFailure(description: text, status: 64) }
    /// Something named in the command does not exist or cannot be used.
    static func data(_ text: String) -> CommandFailure { CommandFailure(description: text, status: 65) }
    /// A file cannot be read.
    static func noInput(_ text: String) -> CommandFailure { CommandFailure(description: text, status: 66) }
    /// The answer is no.
    static func negative(_ text: String) -> CommandFailure { CommandFailure(description: text, status: 1) }
    /// The configuration is wrong.
    static func configuration(_ text: String) -> CommandFailure { CommandFailure(description: text, status: 78) }

    /// The database did not do it.
    init(_ error: StorageError) {
        switch error {
        case .unavailable:
            self.init(
                description: "PostgreSQL cannot be reached; check OPENPUSH_DATABASE_URL and that the server runs", status: 69)
        case .refused(let sqlState) where sqlState.hasPrefix("42"):
            self.init(
                description:
                    "PostgreSQL refused the statement (SQLSTATE \(sqlState)); is the schema applied? Run: openpushctl schema apply",
                status: 70)
        case .refused(let sqlState):
            self.init(description: "PostgreSQL refused the statement (SQLSTATE \(sqlState))", status: 70)
        }
    }

    init(description: String, status: Int32) {
        self.description = description
        self.status = status
    }
}
