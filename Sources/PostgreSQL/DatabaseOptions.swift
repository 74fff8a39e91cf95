import CPostgreSQL
import Glibc

/// A connection string libpq cannot use. Says nothing of the string itself: it may hold a password.
package enum InvalidDatabaseURL: Error, Equatable, CustomStringConvertible {
    /// Neither a `postgresql://` URI nor a list of `keyword=value`.
    case malformed
    /// `service` names a file libpq reads host names from, which it would then resolve on the event loop.
    case serviceUnsupported
    /// Lists of hosts, addresses and ports of different lengths.
    case unequalLists

    package var description: String {
        switch self {
        case .malformed: "is neither a postgresql:// URI nor libpq keywords"
        case .serviceUnsupported: "names a service file, which is not supported"
        case .unequalLists: "lists hosts, addresses and ports of different numbers"
        }
    }
}

/// Where the database is and how a session behaves there.
package struct DatabaseOptions: Sendable {
    /// Longest one statement may run, enforced by the server and, with a second of grace, by the connection. Default 10 s.
    package var statementTimeout: Duration = .seconds(10)
    /// Longest a session may sit idle inside a transaction before the server ends it. Default 15 s.
    package var idleInTransactionTimeout: Duration = .seconds(15)
    /// Longest the servers' names may take to resolve, and then, separately, an attempt to connect. Default 5 s.
    package var connectTimeout: Duration = .seconds(5)

    /// libpq's keywords and values, as given.
    private(set) var keywords: [String: String]

    /// `url`: a URI or keywords as libpq's manual describes them in "Connection Strings". libpq's environment variables (PGHOST,
    /// PGPASSWORD...) and password file fill in what is missing.
    package init(url: String) throws(InvalidDatabaseURL) {
        keywords = try Self.parse(url)
        guard keywords["service"] == nil else { throw .serviceUnsupported }
        // What is changed before libpq sees it has to be known here, wherever it comes from.
        for name in ["host", "hostaddr", "port", "options", "target_session_attrs"] where keywords[name] == nil {
            keywords[name] = Self.environmentDefault(name)
        }
        _ = try endpoints()
    }

    /// The same server and user, another database.
    package func selecting(database: String) -> DatabaseOptions {
        var copy = self
        copy.keywords["dbname"] = database
        return copy
    }

    /// The name of the database, or nil for libpq's default.
    package var database: String? { keywords["dbname"] }

    /// The options as keywords of libpq, credentials included: for handing them to another process.
    package var connectionString: String {
        keywords.sorted { $0.key < $1.key }.map { name, value in
            let quoted = value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] }
            return "\(name)='\(String(quoted))'"
        }.joined(separator: " ")
    }

    private static func parse(_ url: String) throws(InvalidDatabaseURL) -> [String: String] {
        // libpq's message is not asked for: it quotes the string.
        guard let options = unsafe PQconninfoParse(url, nil) else { throw .malformed }
        defer { unsafe PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = unsafe options
        while let name = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                values[unsafe String(cString: name)] = unsafe String(cString: value)
            }
            unsafe option += 1
        }
        return values
    }

    private static func environmentDefault(_ keyword: String) -> String? {
        guard let value = unsafe getenv("PG\(keyword.uppercased().filter { $0 != "_" })") else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}

extension DatabaseOptions: CustomStringConvertible, CustomReflectable {
    package var description: String { "<database options>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension DatabaseOptions {
    /// One server of the list a connection string may hold.
    struct Endpoint: Equatable {
        /// A name, an address, a directory of a Unix socket, or empty for libpq's default socket.
        var host: String
        /// A numeric address that makes resolving the name superfluous; may be empty.
        var address: String
        /// Empty for the default port.
        var port: String

        var isUnixSocket: Bool { host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") }
        var needsResolving: Bool { address.isEmpty && !isUnixSocket }
    }

    /// The servers in the order they are to be tried. One port stands for all hosts.
    func endpoints() throws(InvalidDatabaseURL) -> [Endpoint] {
        let hosts = Self.list(keywords["host"])
        let addresses = Self.list(keywords["hostaddr"])
        let ports = Self.list(keywords["port"])
        let count = max(hosts.count, addresses.count, 1)
        guard hosts.isEmpty || hosts.count == count, addresses.isEmpty || addresses.count == count,
            ports.count <= 1 || ports.count == count
        else { throw .unequalLists }
        return (0..<count).map { index in
            Endpoint(
                host: hosts.isEmpty ? "" : hosts[index], address: addresses.isEmpty ? "" : addresses[index],
                port: ports.isEmpty ? "" : ports.count == 1 ? ports[0] : ports[index])
        }
    }

    private static func list(_ value: String?) -> [String] {
        value?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    }

    /// What libpq is told: the servers, numeric, and the settings of the session.
    func connectionKeywords(_ endpoints: [Endpoint]) -> [String: String] {
        var result = keywords
        result["host"] = endpoints.map(\.host).joined(separator: ",")
        result["hostaddr"] = endpoints.map(\.address).joined(separator: ",")
        result["port"] = endpoints.map(\.port).joined(separator: ",")
        result["client_encoding"] = "UTF8"
        result["options"] = [keywords["options"], sessionSettings].compactMap(\.self).joined(separator: " ")
        let defaults = [
            "fallback_application_name": "openpushd",
            // After a failover one of the servers is a standby, which takes no writes: libpq then goes on to the next.
            "target_session_attrs": "read-write",
            // A Kerberos library call may block for the time of a network exchange.
            "gssencmode": "disable",
            // A server that vanished without a word is noticed after 30 + 3 * 5 s at rest, and after 15 s with unanswered data.
            "keepalives_idle": "30", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "15000",
        ]
        result.merge(defaults) { given, _ in given }
        return result
    }

    private var sessionSettings: String {
        let settings = [
            ("jit", "off"), ("statement_timeout", "\(statementTimeout.wholeMilliseconds)"),
            ("idle_in_transaction_session_timeout", "\(idleInTransactionTimeout.wholeMilliseconds)"),
            // When a connection is closed in mid-statement, the server notices within this time and stops (PostgreSQL 14).
            ("client_connection_check_interval", "1000"),
            // Plans are kept: one made while a table is empty would go on to read all of it when it holds millions.
            ("enable_seqscan", "off"),
        ]
        return settings.map { "-c \($0.0)=\($0.1)" }.joined(separator: " ")
    }
}

extension Duration {
    /// Rounded down, at least 1.
    var wholeMilliseconds: Int64 { max(1, components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000) }
}
