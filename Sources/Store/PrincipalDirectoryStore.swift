package import Gateway
import PostgreSQL

extension Store: PrincipalDirectory {
    /// How long the look-up may take. Every request begins with it, so a database that has gone silent is noticed here, and the
    /// caller hears 503 within 2 s.
    static let principalDeadline: Duration = .milliseconds(1_500)

    package func principal(forKeyDigest digest: [UInt8]) async throws(StorageError) -> Principal? {
        let result = try await query(PrincipalStatements.find, [.bytes(digest)], deadline: Self.principalDeadline)
        guard result.rowCount == 1, let kind = KeyKind(rawValue: result.int16(row: 0, column: Application.columnCount)) else {
            return nil
        }
        return Principal(application: result.application(row: 0, firstColumn: 0), kind: kind)
    }

    package func application(named publicID: UUID) async throws(StorageError) -> Application? {
        let found = try await query(
            AdministrationStatements.application, [.uuid(publicID)], deadline: Self.principalDeadline)
        return found.rowCount == 1 ? found.application(row: 0, firstColumn: 0) : nil
    }
}

enum PrincipalStatements {
    static let all = [find]

    /// The app and kind of a key in force: digest.
    static let find = Statement(
        name: "principal_find",
        text: """
            select \(Application.columns), api_key.kind
            from api_key join app using (app_id)
            where api_key.digest = $1 and api_key.revoked_at is null
            """)
}
