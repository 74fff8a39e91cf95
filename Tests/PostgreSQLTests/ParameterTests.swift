@testable import PostgreSQL
import TestSupport
import Testing

@Suite("Parameter", .enabled(if: TestDatabase.isAvailable)) struct ParameterTests {
    static let cases: [(parameter: Parameter, type: String, text: String?)] = [
        (.null, "int8", nil), (.null, "text[]", nil),
        (.bool(true), "bool", "true"), (.bool(false), "bool", "false"),
        (.int16(.min), "int2", "-32768"), (.int16(.max), "int2", "32767"),
        (.int32(.min), "int4", "-2147483648"), (.int32(-1), "int4", "-1"),
        (.int64(.min), "int8", "-9223372036854775808"), (.int64(.max), "int8", "9223372036854775807"), (.int64(0), "int8", "0"),
        (.double(-0.1), "float8", "-0.1"), (.double(.infinity), "float8", "Infinity"), (.double(.nan), "float8", "NaN"),
        (.text(""), "text", ""), (.text("Zürich 🏃‍♀️ '\\\""), "text", "Zürich 🏃‍♀️ '\\\""),
        (.bytes([]), "bytea", "\\x"), (.bytes([0, 255, 7]), "bytea", "\\x00ff07"),
        (.uuid(Array(0...15)), "uuid", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (.timestamp(microsecondsSince1970: 0), "timestamptz", "1970-01-01 00:00:00+00"),
        (.timestamp(microsecondsSince1970: 1_700_000_000_123_456), "timestamptz", "2023-11-14 22:13:20.123456+00"),
        (.jsonb(Array(#"{"a": [1, null]}"#.utf8)), "jsonb", #"{"a": [1, null]}"#),
        (.int16Array([]), "int2[]", "{}"), (.int16Array([.min, 0, .max]), "int2[]", "{-32768,0,32767}"),
        (.int32Array([-1, .max]), "int4[]", "{-1,2147483647}"), (.int64Array([]), "int8[]", "{}"),
        (.int64Array([.min, .max]), "int8[]", "{-9223372036854775808,9223372036854775807}"),
        (.textArray([]), "text[]", "{}"), (.textArray(["a,b", nil, "", "NULL"]), "text[]", #"{"a,b",NULL,"","NULL"}"#),
        (.bytesArray([[1], nil, []]), "bytea[]", #"{"\\x01",NULL,"\\x"}"#), (.bytesArray([]), "bytea[]", "{}"),
        (.uuidArray([]), "uuid[]", "{}"),
        (.uuidArray([[UInt8](repeating: 255, count: 16)]), "uuid[]", "{ffffffff-ffff-ffff-ffff-ffffffffffff}"),
        (.timestampArray([0, nil]), "timestamptz[]", #"{"1970-01-01 00:00:00+00",NULL}"#),
        (.timestampArray([]), "timestamptz[]", "{}"),
    ]

    @Test("means the same to the server") func reachesServer() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            try await connection.execute("SET timezone = 'UTC'")
            for (parameter, type, text) in Self.cases {
                let result = try await connection.queryUnprepared("SELECT ($1::\(type))::text", [parameter])
                let found = result.isNull(row: 0, column: 0) ? nil : result.text(row: 0, column: 0)
                #expect(found == text, "\(parameter)")
            }
        }
    }

    @Test("comes back as it went") func roundTrips() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let uuid = Array(UInt8(100)..<116)
            let result = try await connection.query(
                Statement(name: "all", text: "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::int4"),
                [
                    .bool(true), .int16(-2), .int32(.min), .int64(.max), .double(0.1), .text("ü"), .bytes([0, 1]), .uuid(uuid),
                    .timestamp(microsecondsSince1970: -1), .jsonb(Array("[1.50]".utf8)), .null,
                ])
            #expect(result.rowCount == 1 && result.columnCount == 11 && result.affectedRowCount == 1)
            #expect(result.bool(row: 0, column: 0))
            #expect(result.int16(row: 0, column: 1) == -2)
            #expect(result.int64(row: 0, column: 1) == -2)
            #expect(result.int32(row: 0, column: 2) == .min)
            #expect(result.int64(row: 0, column: 3) == .max)
            #expect(result.double(row: 0, column: 4) == 0.1)
            #expect(result.text(row: 0, column: 5) == "ü")
            #expect(result.bytes(row: 0, column: 6) == [0, 1])
            #expect(result.withBytes(row: 0, column: 6) { $0.count } == 2)
            var collected: [UInt8] = [9]
            #expect(result.appendBytes(row: 0, column: 6, to: &collected) == 2)
            #expect(collected == [9, 0, 1])
            #expect(result.uuidBytes(row: 0, column: 7) == uuid)
            #expect(result.timestampMicroseconds(row: 0, column: 8) == -1)
            #expect(result.jsonb(row: 0, column: 9) == Array("[1.50]".utf8))
            #expect(result.isNull(row: 0, column: 10))
        }
    }

    @Test("out of the server's range is refused, never changed", arguments: [Int64.min, Int64.min + 1])
    func refusesTime(microseconds: Int64) async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let error = await #expect(throws: DatabaseError.self) {
                try await connection.queryUnprepared("SELECT $1", [.timestamp(microsecondsSince1970: microseconds)])
            }
            guard case .server("22008", _, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test("at the limit of time reads as the extreme") func readsInfinity() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let result = try await connection.queryUnprepared("SELECT 'infinity'::timestamptz, '-infinity'::timestamptz")
            #expect(result.timestampMicroseconds(row: 0, column: 0) == .max)
            #expect(result.timestampMicroseconds(row: 0, column: 1) == .min)
        }
    }

    @Test("that is NULL on first use takes a value later") func nullFirst() async throws {
        try await TestDatabase.withNew(schema: false) { database in
            let connection = try await database.connect()
            let statement = Statement(name: "nullable", text: "SELECT coalesce($1, 5)::int8")
            #expect(try await connection.query(statement, [.null]).int64(row: 0, column: 0) == 5)
            #expect(try await connection.query(statement, [.int64(.max)]).int64(row: 0, column: 0) == .max)
            #expect(try await connection.query(statement, [.null]).int64(row: 0, column: 0) == 5)
            let count = try await connection.queryUnprepared("SELECT count(*) FROM pg_prepared_statements")
            #expect(count.int64(row: 0, column: 0) == 2)
        }
    }
}
