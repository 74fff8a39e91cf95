import CPostgreSQL

/// The rows one statement returned, in binary format. Row and column start at 0; reading outside, reading NULL, or reading another type than
/// the column has, traps: both are mistakes of the program, not of its input.
///
// The result is never written to after libpq handed it over, and libpq's readers do not change it: sharing it is safe.
@safe package final class QueryResult: @unchecked Sendable {
    private let result: OpaquePointer

    /// Takes ownership: the caller must not call `PQclear`.
    init(owning result: OpaquePointer) { unsafe self.result = result }

    deinit { unsafe PQclear(result) }

    package var rowCount: Int { unsafe Int(PQntuples(result)) }

    package var columnCount: Int { unsafe Int(PQnfields(result)) }

    /// Rows an INSERT, UPDATE, DELETE, MERGE, COPY or SELECT touched; 0 for anything else.
    package var affectedRowCount: Int {
        guard let text = unsafe PQcmdTuples(result) else { return 0 }
        return unsafe Int(String(cString: text)) ?? 0
    }

    package func isNull(row: Int, column: Int) -> Bool {
        check(row, column)
        return unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    package func bool(row: Int, column: Int) -> Bool {
        let bytes = unsafe field(row, column)
        precondition(bytes.count == 1, "not a bool")
        return unsafe bytes[0] != 0
    }

    package func int16(row: Int, column: Int) -> Int16 {
        let bytes = unsafe field(row, column)
        precondition(bytes.count == 2, "not an int2")
        return Int16(truncatingIfNeeded: unsafe bigEndian(bytes))
    }

    /// Also reads an `int2`.
    package func int32(row: Int, column: Int) -> Int32 {
        let bytes = unsafe field(row, column)
        precondition(bytes.count == 4 || bytes.count == 2, "not an int4")
        return Int32(truncatingIfNeeded: unsafe bigEndian(bytes))
    }

    /// Also reads an `int4` and an `int2`.
    package func int64(row: Int, column: Int) -> Int64 {
        let bytes = unsafe field(row, column)
        precondition(bytes.count == 8 || bytes.count == 4 || bytes.count == 2, "not an int8")
        return unsafe bigEndian(bytes)
    }

    /// A `float8`.
    package func double(row: Int, column: Int) -> Double {
        let bytes = unsafe field(row, column)
        precondition(bytes.count == 8, "not a float8")
        return Double(bitPattern: UInt64(bitPattern: unsafe bigEndian(bytes)))
    }

    /// Any type whose binary form is its text: `text`, `varchar`, `name`, `json`, enums.
    package func text(row: Int, column: Int) -> String {
        unsafe String(decoding: field(row, column), as: UTF8.self)
    }

    /// A `bytea`, or the binary form of any other type as it is.
    package func bytes(row: Int, column: Int) -> [UInt8] { unsafe Array(field(row, column)) }

    /// The text of a `jsonb`, in UTF-8.
    package func jsonb(row: Int, column: Int) -> [UInt8] {
        let bytes = unsafe field(row, column)
        unsafe precondition(bytes.first == BinaryFormat.jsonbVersion, "not a jsonb")
        return unsafe Array(bytes.dropFirst())
    }

    /// A `timestamptz`; 'infinity' and '-infinity' are the largest and smallest value.
    package func timestampMicroseconds(row: Int, column: Int) -> Int64 {
        BinaryFormat.microsecondsSince1970(postgreSQLTime: int64(row: row, column: column))
    }

    /// 16 bytes.
    package func uuidBytes(row: Int, column: Int) -> [UInt8] {
        let bytes = unsafe field(row, column)
        precondition(bytes.count == 16, "not a uuid")
        return unsafe Array(bytes)
    }

    /// Lends a field's bytes without copying them.
    package func withBytes<Value, Failure: Error>(
        row: Int, column: Int, _ body: (Span<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe body(field(row, column).span)
    }

    /// Appends a field's bytes, and tells how many. Concrete, for loops over many rows.
    @discardableResult
    package func appendBytes(row: Int, column: Int, to bytes: inout [UInt8]) -> Int {
        let field = unsafe field(row, column)
        unsafe bytes.append(contentsOf: field)
        return field.count
    }

    // MARK: What the connection asks

    var status: ExecStatusType { unsafe PQresultStatus(result) }

    /// The command's tag, such as "COMMIT" or "INSERT 0 1".
    var commandTag: String {
        guard let text = unsafe PQcmdStatus(result) else { return "" }
        return unsafe String(cString: text)
    }

    /// Why the statement failed. DETAIL, HINT and CONTEXT are left out on purpose: they hold values.
    var diagnosis: ServerDiagnosis {
        ServerDiagnosis(
            // 'C' and so on are PG_DIAG_SQLSTATE, ..._SEVERITY_NONLOCALIZED, ..._MESSAGE_PRIMARY, ..._CONSTRAINT_NAME of
            // postgres_ext.h, character macros Swift does not import. Without a code, libpq itself noticed a lost connection (08006).
            sqlState: errorField("C") ?? "08006",
            severity: errorField("V") ?? "ERROR",
            primaryMessage: errorField("M") ?? "connection lost",
            constraint: errorField("n"))
    }

    private func errorField(_ code: Unicode.Scalar) -> String? {
        guard let text = unsafe PQresultErrorField(result, Int32(code.value)) else { return nil }
        return unsafe String(cString: text)
    }

    // MARK: Fields

    private func check(_ row: Int, _ column: Int) {
        precondition(row >= 0 && row < rowCount, "no such row")
        precondition(column >= 0 && column < columnCount, "no such column")
    }

    @unsafe private func field(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
        precondition(!isNull(row: row, column: column), "the field is NULL")
        let count = unsafe Int(PQgetlength(result, Int32(row), Int32(column)))
        guard let start = unsafe PQgetvalue(result, Int32(row), Int32(column)) else {
            return unsafe UnsafeBufferPointer(start: nil, count: 0)
        }
        return unsafe UnsafeRawBufferPointer(start: start, count: count).assumingMemoryBound(to: UInt8.self)
    }

    /// A signed integer of up to 8 bytes.
    @unsafe private func bigEndian(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64 {
        var value: Int64 = unsafe bytes[0] < 0x80 ? 0 : -1
        for index in 0..<bytes.count { value = unsafe value << 8 | Int64(bytes[index]) }
        return value
    }
}
