import Testing

@testable import PostgreSQL

@Suite("Database options") struct DatabaseOptionsTests {
    @Test(
        "refuse what libpq cannot use, without quoting it",
        arguments: [
            ("postgresql://u:p%zz@h/d", InvalidDatabaseURL.malformed), ("host=a =b", .malformed), ("hostt=a", .malformed),
            ("service=main", .serviceUnsupported), ("host=a,b hostaddr=10.0.0.1", .unequalLists),
            ("host=a,b port=1,2,3", .unequalLists),
        ])
    func refuses(url: String, error: InvalidDatabaseURL) {
        #expect(throws: error) { try DatabaseOptions(url: url) }
        #expect(!error.description.contains("p%zz"))
    }

    @Test("list the servers in order") func endpoints() throws {
        let options = try DatabaseOptions(url: "postgresql://u@a:1,b:2,[::1]/d?target_session_attrs=read-write")
        #expect(try options.endpoints().map(\.host) == ["a", "b", "::1"])
        #expect(try options.endpoints().map(\.port) == ["1", "2", ""])
        let shared = try DatabaseOptions(url: "host=a,/run/postgresql port=7")
        #expect(try shared.endpoints().map(\.port) == ["7", "7"])
        #expect(try shared.endpoints().map(\.needsResolving) == [true, false])
    }

    @Test("never print the password") func secret() throws {
        let options = try DatabaseOptions(url: "postgresql://user:hunter2@h/d")
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!"\(options) \(String(reflecting: options)) \(dumped)".contains("hunter2"))
    }

    @Test("survive being written as keywords") func connectionString() throws {
        let options = try DatabaseOptions(url: #"host=h password='a\'b\\ c' dbname=d"#)
        let again = try DatabaseOptions(url: options.selecting(database: "other").connectionString)
        #expect(again.keywords["password"] == #"a'b\ c"#)
        #expect(again.database == "other")
    }

    @Test("keep the options of the URL beside the session's settings") func sessionSettings() throws {
        var options = try DatabaseOptions(url: "host=h options='-c search_path=x' keepalives_idle=7")
        options.statementTimeout = .milliseconds(1500)
        let keywords = try options.connectionKeywords(options.endpoints())
        #expect(keywords["options"]?.hasPrefix("-c search_path=x -c jit=off -c statement_timeout=1500 ") == true)
        #expect(keywords["keepalives_idle"] == "7")
    }

    @Test("want a server that takes writes, unless the URL says what else will do") func readWrite() throws {
        for (url, wanted) in [
            ("host=a,b", "read-write"), ("postgresql://a,b/d?target_session_attrs=any", "any"),
            ("host=a,b target_session_attrs=primary", "primary"),
        ] {
            let options = try DatabaseOptions(url: url)
            #expect(try options.connectionKeywords(options.endpoints())["target_session_attrs"] == wanted)
        }
    }
}

@Suite("The order of servers") struct ServerOrderTests {
    private let servers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map { DatabaseOptions.Endpoint(host: "", address: $0, port: "") }

    /// As a connection tells where it leads.
    private func place(_ number: Int) -> DatabaseOptions.Endpoint {
        DatabaseOptions.Endpoint(host: "10.0.0.\(number)", address: "10.0.0.\(number)", port: "5432")
    }

    private func arranged(_ order: ServerOrder) -> [String] { order.arrange(servers).map { String($0.address.suffix(1)) } }

    @Test("is that of the list, and after each failure another one is first") func rotates() {
        var order = ServerOrder()
        var first: [String] = []
        for _ in 1...4 {
            first.append(arranged(order)[0])
            order.failed()
        }
        #expect(first == ["1", "2", "3", "1"])
        #expect(order.arrange([]).isEmpty)
    }

    @Test("begins with the one that worked last, and goes on behind it when it fails") func remembers() {
        var order = ServerOrder()
        order.failed()
        order.worked(place(2))
        #expect(arranged(order) == ["2", "3", "1"])
        order.failed()
        #expect(arranged(order) == ["3", "1", "2"])
        order.worked(place(1))
        #expect(arranged(order) == ["1", "2", "3"])
    }

    @Test("does not miss a server that left the list, nor take another port for it") func forgets() {
        var order = ServerOrder()
        order.worked(place(7))
        #expect(arranged(order) == ["1", "2", "3"])
        order.worked(DatabaseOptions.Endpoint(host: "", address: "10.0.0.2", port: "6000"))
        #expect(arranged(order) == ["2", "3", "1"])
        let ported = servers.map { DatabaseOptions.Endpoint(host: "", address: $0.address, port: "5432") }
        #expect(order.arrange(ported) == ported)
    }
}

@Suite("Back-off") struct BackoffTests {
    @Test("doubles up to its cap, minus at most half") func doubles() {
        let backoff = Backoff(first: .milliseconds(50), cap: .milliseconds(700))
        #expect(
            [1, 2, 3, 4, 5, 1000].map { backoff.delay(afterFailure: $0, random: 0) }
                == [50, 100, 200, 400, 700, 700].map { .milliseconds($0) })
        #expect(backoff.delay(afterFailure: 1, random: 1) == .milliseconds(25))
    }
}

@Suite("Prepared statements") struct PreparedStatementsTests {
    private let statement = Statement(name: "s", text: "SELECT $1")

    @Test("tell variants apart by type; NULL fits all") func variants() {
        var prepared = PreparedStatements()
        #expect(prepared.lookUp(statement, types: [20]) == nil)
        let untyped = prepared.add(statement, types: [0])
        #expect(prepared.lookUp(statement, types: [0]) == untyped)
        #expect(prepared.lookUp(statement, types: [20]) == nil)
        let typed = prepared.add(statement, types: [20])
        #expect(typed != untyped)
        #expect(prepared.lookUp(statement, types: [20]) == typed)
        #expect(prepared.lookUp(statement, types: [20, 20]) == nil)
    }

    @Test("never use a name twice") func names() {
        var prepared = PreparedStatements()
        let first = prepared.add(statement, types: [])
        prepared.forget(statement)
        #expect(prepared.lookUp(statement, types: []) == nil)
        #expect(prepared.add(statement, types: []) != first)
    }
}
