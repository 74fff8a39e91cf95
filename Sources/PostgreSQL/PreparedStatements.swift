/// What one connection has prepared, by statement and parameter types.
///
/// A statement whose first use had a NULL is prepared with that parameter's type inferred by the server; a later use with a value of an
/// explicit type then needs a variant of its own. Names on the server are never reused, so that one which became stale does no harm.
struct PreparedStatements {
    /// Most names issued before everything is discarded and prepared afresh. The program has some hundred statements.
    static let issuedLimit = 512

    struct Variant {
        let types: [UInt32]
        let serverName: String

        /// NULL (type 0) fits every type.
        func accepts(_ given: [UInt32]) -> Bool {
            types.count == given.count && zip(types, given).allSatisfy { $0 == $1 || $1 == 0 }
        }
    }

    private var variants: [String: [Variant]] = [:]
    private var issuedCount = 0

    var isFull: Bool { issuedCount >= Self.issuedLimit }

    func lookUp(_ statement: Statement, types: [UInt32]) -> String? {
        variants[statement.name]?.first { $0.accepts(types) }?.serverName
    }

    /// Issues a name to prepare the statement under.
    mutating func add(_ statement: Statement, types: [UInt32]) -> String {
        let serverName = "\(statement.name)_\(issuedCount)"
        issuedCount += 1
        variants[statement.name, default: []].append(Variant(types: types, serverName: serverName))
        return serverName
    }

    mutating func forget(_ statement: Statement) { variants[statement.name] = nil }

    /// After DEALLOCATE ALL.
    mutating func removeAll() { self = PreparedStatements() }
}
