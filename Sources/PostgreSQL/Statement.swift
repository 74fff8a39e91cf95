/// A named SQL statement: prepared on its first use on each connection, executed by name afterwards.
package struct Statement: Sendable, Hashable {
    /// Most bytes of a name. PostgreSQL keys prepared statements by 63 bytes; the rest is left for the suffix a connection adds.
    package static let nameByteCountLimit = 48

    /// Unique among all statements of the process; at most ``nameByteCountLimit`` bytes.
    package let name: String
    /// One SQL command with `$1`, `$2`... for its parameters.
    package let text: String

    package init(name: String, text: String) {
        precondition(!name.isEmpty && name.utf8.count <= Self.nameByteCountLimit, "a statement's name has 1 to 48 bytes")
        self.name = name
        self.text = text
    }

    /// Two statements are the same when their names are: a name is bound to one text.
    package static func == (left: Statement, right: Statement) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// One statement of a pipeline with its parameters. See ``DatabaseConnection/run(_:deadline:)``.
package struct StatementCall: Sendable {
    package let statement: Statement
    package let parameters: [Parameter]

    package init(_ statement: Statement, _ parameters: [Parameter] = []) {
        self.statement = statement
        self.parameters = parameters
    }
}
