package import Gateway
import PostgreSQL
import Security

extension Store: ProviderTokenVault {
    package func signingKey(of key: ProviderKey) async throws(StorageError) -> [UInt8]? {
        let found = try await query(ProviderTokenStatements.signingKey, key.parameters)
        guard found.rowCount == 1 else { return nil }
        return try? sealingKey.open(found.bytes(row: 0, column: 0), context: key.signingKeyContext)
    }

    package func currentToken(of key: ProviderKey) async throws(StorageError) -> ProviderToken? {
        open(try await query(ProviderTokenStatements.find, key.parameters), of: key)
    }

    package func replaceToken(
        of key: ProviderKey, expected: ProviderToken?, with replacement: ProviderToken, minimumAgeSeconds: Int64
    ) async throws(StorageError) -> ProviderToken {
        let sealed = sealingKey.seal(Array(replacement.token.utf8), context: key.tokenContext)
        let row: [Parameter] = key.parameters + [.bytes(sealed), .int64(replacement.issuedAt)]
        return try await transaction { connection in
            let added = try await connection.query(ProviderTokenStatements.add, row)
            guard added.affectedRowCount == 0 else { return replacement }
            let locked = try await connection.query(ProviderTokenStatements.lock, key.parameters)
            let stored = self.open(locked, of: key)
            // One that cannot be opened was sealed with another master key: it is as good as none.
            if let stored {
                guard stored == expected, locked.int64(row: 0, column: 2) >= minimumAgeSeconds else { return stored }
            }
            try await connection.query(ProviderTokenStatements.replace, row)
            return replacement
        }
    }

    private func open(_ row: QueryResult, of key: ProviderKey) -> ProviderToken? {
        guard row.rowCount == 1,
            let token = try? sealingKey.open(row.bytes(row: 0, column: 0), context: key.tokenContext)
        else { return nil }
        return ProviderToken(token: String(decoding: token, as: UTF8.self), issuedAt: row.int64(row: 0, column: 1))
    }
}

extension ProviderKey {
    fileprivate var parameters: [Parameter] { [.text(teamID), .text(keyID)] }
    /// What a sealed signing key is bound to: it opens in no other place.
    var signingKeyContext: [UInt8] { Array("signing-key/\(teamID)/\(keyID)".utf8) }
    fileprivate var tokenContext: [UInt8] { Array("provider-token/\(teamID)/\(keyID)".utf8) }
}

enum ProviderTokenStatements {
    static let all = [signingKey, find, lock, add, replace]

    static let signingKey = Statement(
        name: "provider_signing_key", text: "select sealed_pem from signing_key where team_id = $1 and key_id = $2")

    static let find = Statement(
        name: "provider_token_find",
        text: "select sealed_token, issued_at from provider_token where team_id = $1 and key_id = $2")

    // The clock of whoever made a token may be what is wrong with it, so that its age is not told by issued_at.
    /// The token, when it was issued, and how many seconds ago it was stored.
    static let lock = Statement(
        name: "provider_token_lock",
        text: """
            select sealed_token, issued_at,
                unix_seconds(clock_timestamp()) - coalesce(unix_seconds(replaced_at), issued_at)
            from provider_token
            where team_id = $1 and key_id = $2
            for update
            """)

    static let add = Statement(
        name: "provider_token_add",
        text: """
            insert into provider_token (team_id, key_id, sealed_token, issued_at, replaced_at)
            values ($1, $2, $3, $4, clock_timestamp())
            on conflict do nothing
            """)

    static let replace = Statement(
        name: "provider_token_replace",
        text: """
            update provider_token
            set sealed_token = $3, issued_at = $4, replaced_at = clock_timestamp()
            where team_id = $1 and key_id = $2
            """)
}
