/// What the server said about a failed statement, before it is told to the caller.
struct ServerDiagnosis {
    var sqlState: String
    var severity: String
    var primaryMessage: String
    var constraint: String?

    /// The server hangs up after these.
    var isFatal: Bool { severity == "FATAL" || severity == "PANIC" }

    /// The connection has to be given up although it works: it leads to a server that became a standby.
    var demandsReconnect: Bool { isFatal || sqlState == SQLState.readOnlyTransaction }

    /// Outages become `.unavailable`, a standby `.readOnly`; everything else keeps its code.
    var error: DatabaseError {
        if sqlState == SQLState.queryCanceled { return .unavailable(reason: "the statement was cancelled or took too long") }
        if sqlState == SQLState.readOnlyTransaction { return .readOnly(reason: "\(safeMessage) (\(sqlState))") }
        if isFatal || SQLState.unavailablePrefixes.contains(where: sqlState.hasPrefix) {
            return .unavailable(reason: "\(safeMessage) (\(sqlState))")
        }
        return .server(sqlState: sqlState, message: safeMessage, constraint: constraint)
    }

    /// Messages of class 22 quote the value ("invalid input syntax for type uuid: "..."): they are cut before the quotation.
    private var safeMessage: String {
        guard sqlState.hasPrefix(SQLState.dataExceptionClass) else { return primaryMessage }
        let cut = primaryMessage.prefix { $0 != "\"" && $0 != ":" }
        return cut.last == " " ? String(cut.dropLast()) : String(cut)
    }
}
