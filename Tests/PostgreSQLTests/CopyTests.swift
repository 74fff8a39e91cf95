@testable import PostgreSQL
import TestSupport
import Testing

@Suite("COPY", .enabled(if: TestDatabase.isAvailable)) struct CopyTests {
    private static let copy = "COPY outcome FROM STDIN (FORMAT binary)"
    private static let table = "CREATE TABLE outcome (id int8 PRIMARY KEY, status int2, code int4, reason bytea, at timestamptz)"

    private static func buffer(rowCount: Int, payload: [UInt8]) -> [UInt8] {
        var buffer = CopyBuffer(byteCapacity: rowCount * 60)
        for row in 0..<rowCount {
            buffer.beginRow(fieldCount: 5)
            buffer.append(int64: Int64(row))
            buffer.append(int16: -1)
            buffer.append(int32: .max)
            if row.isMultiple(of: 2) { buffer.append(bytes: payload) } else { buffer.appendNull() }
            buffer.append(microsecondsSince1970: 1_700_000_000_000_000)
        }
        return buffer.finish()
    }

    @Test("stores 10,000 rows") func copies() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute(Self.table)
            #expect(try await connection.copyIn(Self.copy, data: Self.buffer(rowCount: 10_000, payload: [1, 2, 3])) == 10_000)
            let result = try await connection.queryUnprepared(
                """
                SELECT sum(id)::int8, sum(status)::int8, min(code), count(reason), min(encode(reason, 'hex')), extract(epoch FROM min(at))::int8 FROM outcome
                """)
            #expect(result.int64(row: 0, column: 0) == 9999 * 10_000 / 2)
            #expect(result.int64(row: 0, column: 1) == -10_000)
            #expect(result.int32(row: 0, column: 2) == .max)
            #expect(result.int64(row: 0, column: 3) == 5000)
            #expect(result.text(row: 0, column: 4) == "010203")
            #expect(result.int64(row: 0, column: 5) == 1_700_000_000)
        }
    }

    @Test("waits for a socket that is full") func largeCopy() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute(Self.table)
            let data = Self.buffer(rowCount: 300, payload: [UInt8](repeating: 1, count: 100_000))
            // How long so many bytes take depends on the machine.
            try await connection.execute("SET statement_timeout = 0")
            #expect(try await connection.copyIn(Self.copy, data: data, deadline: .seconds(50)) == 300)
        }
    }

    @Test("stores nothing when one row is refused, and leaves the connection usable") func refused() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute(Self.table + "; INSERT INTO outcome VALUES (999)")
            let error = await #expect(throws: DatabaseError.self) {
                try await connection.copyIn(Self.copy, data: Self.buffer(rowCount: 1000, payload: [1]))
            }
            guard case .server("23505", _, "outcome_pkey") = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            await #expect(throws: DatabaseError.self) { try await connection.copyIn(Self.copy, data: [1, 2, 3]) }
            #expect(try await connection.queryUnprepared("SELECT 1 FROM outcome").rowCount == 1)
        }
    }

    @Test("that no data was given for closes the connection") func unexpectedCopy() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute(Self.table)
            await #expect(throws: DatabaseError.unavailable(reason: "unexpected answer")) {
                try await connection.execute(Self.copy)
            }
            #expect(await !connection.isOpen)
        }
    }
}
