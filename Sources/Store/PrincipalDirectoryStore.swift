package import Gateway
import PostgreSQL

extension Store: PrincipalDirectory {
    /// How long the look-up may take. Every request begins with it, so a database that has gone silent is noticed here, and the
    /// caller hears 503 within 2 s.
    static let principalDeadline: Duration = .milliseconds(1_500)

    package func principal(forKeyDigest digest: [UInt8]) async throws(StorageError) -> Principal? {
        try await principals(forKeyDigests: [digest])[0]
    }

    /// The same for many, in their order.
    package func principals(forKeyDigests digests: [[UInt8]]) async throws(StorageError) -> [Principal?] {
        let distinct = Set(digests)
        let result = try await query(
            PrincipalStatements.find, [.bytesArray(Array(distinct))], deadline: Self.principalDeadline)
        var found: [[UInt8]: Principal] = [:]
        for row in 0..<result.rowCount {
            guard let kind = KeyKind(rawValue: result.int16(row: row, column: Application.columnCount)) else { continue }
            found[result.bytes(row: row, column: Application.columnCount + 1)] = Principal(
                application: result.application(row: row, firstColumn: 0), kind: kind)
        }
        return digests.map { found[$0] }
    }

    package func application(named publicID: UUID) async throws(StorageError) -> Application? {
        let found = try await query(
            AdministrationStatements.application, [.uuid(publicID)], deadline: Self.principalDeadline)
        return found.rowCount == 1 ? found.application(row: 0, firstColumn: 0) : nil
    }
}

enum PrincipalStatements {
    static let all = [find]

    /// The app, kind and digest of keys in force: digests.
    static let find = Statement(
        name: "principal_find",
        text: """
            select \(Application.columns), api_key.kind, api_key.digest
            from api_key join app using (app_id)
            where api_key.digest = any($1) and api_key.revoked_at is null
            """)
}
