import CPostgreSQL

/// A non-blocking `PGconn`. Not Sendable: it lives inside one ``DatabaseConnection``, which waits for its socket.
@safe final class ConnectionHandle {
    enum Progress: Equatable { case waitsToRead, waitsToWrite, open, failed }

    private let connection: OpaquePointer

    /// Begins to connect. All hosts among the keywords must be numeric, or libpq resolves them here and blocks.
    init(keywords: [String: String]) throws(DatabaseError) {
        let names = keywords.keys.sorted()
        let values = names.map { keywords[$0, default: ""] }
        guard let connection = unsafe withCStringArrays(names, values, { unsafe PQconnectStartParams($0, $1, 0) }) else {
            throw .unavailable(reason: "out of memory")
        }
        unsafe self.connection = connection
        guard unsafe PQstatus(connection) != CONNECTION_BAD else { throw failure }
        unsafe PQsetNoticeProcessor(connection, { _, _ in }, nil)  // libpq would print notices on standard error
    }

    deinit { unsafe PQfinish(connection) }

    /// Changes while connecting; negative when there is none.
    var socket: Int32 { unsafe PQsocket(connection) }

    func pollConnecting() -> Progress {
        switch unsafe PQconnectPoll(connection) {
        case PGRES_POLLING_READING: .waitsToRead
        case PGRES_POLLING_WRITING: .waitsToWrite
        // Sending has to be made non-blocking on its own, once the session is open.
        case PGRES_POLLING_OK: unsafe PQsetnonblocking(connection, 1) == 0 ? .open : .failed
        default: .failed
        }
    }

    var isBroken: Bool { unsafe PQstatus(connection) == CONNECTION_BAD }

    /// No transaction is open and nothing is under way.
    var isIdle: Bool { unsafe PQtransactionStatus(connection) == PQTRANS_IDLE }

    /// Where an open connection leads: address and port are told even where the keywords left them out.
    var endpoint: DatabaseOptions.Endpoint {
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String { unsafe value.map { unsafe String(cString: $0) } ?? "" }
        return unsafe DatabaseOptions.Endpoint(
            host: text(PQhost(connection)), address: text(PQhostaddr(connection)), port: text(PQport(connection)))
    }

    /// Most servers whose answers to an attempt to connect are told.
    private static let toldServerLimit = 8

    /// What libpq complains of. Its words name hosts and users but no credentials.
    var failure: DatabaseError {
        guard let text = unsafe PQerrorMessage(connection) else { return .unavailable(reason: "connection lost") }
        let lines = unsafe String(cString: text).split(separator: "\n")
        // One for each server that was tried; what else there is explains.
        let servers = lines.filter { $0.hasPrefix("connection to server ") }
        let reason = (servers.isEmpty ? lines.prefix(1) : servers.prefix(Self.toldServerLimit)).joined(separator: "; ")
        // In libpq's words, for want of a code: what target_session_attrs refuses.
        let isReadOnly = servers.contains {
            $0.hasSuffix("session is read-only") || $0.hasSuffix("server is in hot standby mode")
        }
        return isReadOnly ? .readOnly(reason: reason) : .unavailable(reason: reason.isEmpty ? "connection lost" : reason)
    }

    // MARK: Receiving

    /// Takes what the socket has; false when the connection is lost.
    func consumeInput() -> Bool { unsafe PQconsumeInput(connection) == 1 }

    /// Whether `nextResult` would wait for the network.
    var isBusy: Bool { unsafe PQisBusy(connection) == 1 }

    /// nil ends the results of a command.
    func nextResult() -> QueryResult? {
        guard let result = unsafe PQgetResult(connection) else { return nil }
        return unsafe QueryResult(owning: result)
    }

    func nextNotification() -> DatabaseNotification? {
        guard let notification = unsafe PQnotifies(connection) else { return nil }
        defer { unsafe PQfreemem(notification) }
        return unsafe DatabaseNotification(
            channel: String(cString: notification.pointee.relname), payload: String(cString: notification.pointee.extra))
    }

    // MARK: Sending. Each returns false when libpq refuses; `failure` says why.

    /// nil when the connection is lost, else whether the socket took everything.
    func flush() -> Bool? {
        switch unsafe PQflush(connection) {
        case 0: true
        case 1: false
        default: nil
        }
    }

    func sendSimple(_ sql: String) -> Bool { unsafe PQsendQuery(connection, sql) == 1 }

    func enterPipeline() -> Bool { unsafe PQenterPipelineMode(connection) == 1 }

    func exitPipeline() -> Bool { unsafe PQexitPipelineMode(connection) == 1 }

    func sendSync() -> Bool { unsafe PQpipelineSync(connection) == 1 }

    func sendPrepare(name: String, text: String, types: [UInt32]) -> Bool {
        unsafe PQsendPrepare(connection, name, text, Int32(types.count), types) == 1
    }

    func sendExecute(name: String, _ block: ParameterBlock) -> Bool {
        unsafe block.withValues { values, lengths, formats in
            unsafe PQsendQueryPrepared(connection, name, Int32(block.count), values, lengths, formats, 1) == 1
        }
    }

    func sendUnprepared(text: String, _ block: ParameterBlock) -> Bool {
        unsafe block.withValues { values, lengths, formats in
            unsafe PQsendQueryParams(connection, text, Int32(block.count), block.types, values, lengths, formats, 1) == 1
        }
    }

    func putCopyData(_ bytes: ArraySlice<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe PQputCopyData(connection, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count)) == 1
        }
    }

    func putCopyEnd() -> Bool { unsafe PQputCopyEnd(connection, nil) == 1 }
}

extension ParameterBlock {
    typealias Values = UnsafePointer<UnsafePointer<CChar>?>

    /// Lends the arrays libpq wants: a pointer, a length and the binary format (1) for each value.
    @unsafe fileprivate func withValues(_ body: (Values?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Bool) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            // An empty value is not NULL: it needs some address, even when the buffer has none.
            let start = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let formats = [Int32](repeating: 1, count: count)
            return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
                let base = unsafe UnsafePointer(empty.baseAddress)
                let values = unsafe offsets.map { offset in
                    unsafe offset.flatMap { offset in unsafe start.map { unsafe $0 + offset } ?? base }
                }
                return unsafe body(values, lengths, formats)
            }
        }
    }
}

/// Lends two NULL-terminated arrays of C strings.
@unsafe private func withCStringArrays<Value>(
    _ first: [String], _ second: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
    let strings = (first + second).map { $0.utf8CString }
    // One buffer for all, so that one scope keeps every pointer valid.
    let joined = ContiguousArray(strings.joined())
    return unsafe joined.withUnsafeBufferPointer { buffer in
        var pointers: [UnsafePointer<CChar>?] = unsafe []
        var offset = 0
        for string in strings {
            unsafe pointers.append(buffer.baseAddress.map { unsafe $0 + offset })
            offset += string.count
        }
        let left = unsafe pointers[..<first.count] + [nil]
        let right = unsafe pointers[first.count...] + [nil]
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in unsafe body(left.baseAddress!, right.baseAddress!) }
        }
    }
}
