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

    /// The database answers, and cannot be used.
    static func database(_ complaint: String) -> CommandFailure {
        CommandFailure(description: "The database of OPENPUSH_DATABASE_URL cannot be used: \(complaint)", status: 69)
    }

    /// The database did not do it.
    ///
    /// - Parameter reason: why the last connection could not be made, as libpq says it.
    init(_ error: StorageError, reason: String?) {
        switch error {
        case .unavailable:
            let why = reason.map { ": \($0)" } ?? ""
            self.init(description: "\(error)\(why); check OPENPUSH_DATABASE_URL and that the server runs", status: 69)
        case .refused: self.init(description: error.description, status: 70)
        }
    }

    init(description: String, status: Int32) {
        self.description = description
        self.status = status
    }
}
