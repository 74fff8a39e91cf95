import JSON
import PostgreSQL

@testable import Store

/// What `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` said of one execution.
struct QueryPlan {
    /// One node that was executed.
    struct Node {
        let type: String
        /// The table, of scans.
        let relation: String?
        /// Rows it returned or threw away, in all its loops.
        let lookedAt: Int

        var description: String { "\(type)\(relation.map { " on \($0)" } ?? "")" }
    }

    let nodes: [Node]
    /// Pages of tables and indexes that were looked at, in memory or not.
    let blockCount: Int

    init(json: [UInt8]) throws {
        guard let root = try JSONDocument(parsing: json).root.elements.first?["Plan"] else {
            throw FixtureError.unexpected("no plan")
        }
        nodes = Self.nodes(root)
        blockCount = Self.integer(root, "Shared Hit Blocks") + Self.integer(root, "Shared Read Blocks")
    }

    private static func nodes(_ plan: JSONValue) -> [Node] {
        let loops = integer(plan, "Actual Loops")
        // A branch that was never executed costs nothing, whatever it is.
        guard loops > 0 else { return [] }
        let rows = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"].map { integer(plan, $0) }
        let node = Node(
            type: plan["Node Type"]?.string ?? "?", relation: plan["Relation Name"]?.string,
            lookedAt: rows.reduce(0, +) * loops)
        return [node] + (plan["Plans"]?.elements ?? []).flatMap(nodes)
    }

    private static func integer(_ plan: JSONValue, _ key: String) -> Int { Int(plan[key]?.double ?? 0) }

    /// What is wrong with it, by node: a table of millions is read from end to end, or more is looked at than the statement is about.
    ///
    /// - Parameters:
    ///   - rows: most rows any node may look at in a large table.
    ///   - isAboutAll: whether the statement is about so much of a table that reading it from end to end is no fault; reading it twice is.
    func faults(largeTables: Set<String>, rows: Int, isAboutAll: Bool = false) -> [String] {
        var faults: [String] = []
        for node in nodes {
            guard let relation = node.relation, largeTables.contains(relation) else { continue }
            if !isAboutAll, node.type.contains("Seq Scan") { faults.append("\(node.description) reads the whole table") }
            if node.lookedAt > rows { faults.append("\(node.description) looks at \(node.lookedAt) rows, not at \(rows)") }
        }
        // Up to four look-ups a row, each in a tree of three levels and then the row; or a row, and the indexes that are written.
        let blocks = 16 * rows + 500
        if blockCount > blocks { faults.append("the statement looks at \(blockCount) pages, not at \(blocks)") }
        return faults
    }
}

extension StoreFixture {
    /// How PostgreSQL may plan a prepared statement: for the values at hand, or for any.
    static let planModes = ["force_custom_plan", "force_generic_plan"]

    /// The plan of a statement, executed with arguments that are SQL literals; nothing of what it writes stays.
    func plan(_ statement: Statement, _ arguments: [String], mode: String) async throws -> QueryPlan {
        try await session.execute("begin; set local plan_cache_mode = \(mode); prepare \(statement.name) as \(statement.text)")
        do {
            let list = arguments.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))"
            let explained = try await session.queryUnprepared(
                "explain (analyze, buffers, timing off, format json) execute \(statement.name)\(list)")
            try await session.execute("rollback; deallocate \(statement.name)")
            return try QueryPlan(json: explained.bytes(row: 0, column: 0))
        } catch {
            try await session.execute("rollback; deallocate all")
            throw error
        }
    }

    /// The plan of a compiled statement, which has a plan of its own each time.
    func plan(_ sql: String, _ parameters: [Parameter]) async throws -> QueryPlan {
        let explained = try await session.queryUnprepared(
            "explain (analyze, buffers, timing off, format json) \(sql)", parameters)
        return try QueryPlan(json: explained.bytes(row: 0, column: 0))
    }
}
