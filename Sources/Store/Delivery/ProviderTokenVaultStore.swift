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
        of key: ProviderKey, expected: ProviderToken?, with replacement: ProviderToken, forcedDistanceSeconds: Int64?
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
                guard stored == expected else { return stored }
                let distance = locked.optionalInt64(row: 0, column: 2)
                if let distance, let forcedDistanceSeconds, distance < forcedDistanceSeconds { return stored }
            }
            try await connection.query(ProviderTokenStatements.replace, row + [.bool(forcedDistanceSeconds != nil)])
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

    /// The token, when it was issued, and how many seconds ago one was replaced because APNs refused it; null too when that is still to
    /// come, since the server's clock was set back.
    static let lock = Statement(
        name: "provider_token_lock",
        text: """
            select sealed_token, issued_at,
                case when forced_at <= clock_timestamp() then unix_seconds(clock_timestamp()) - unix_seconds(forced_at) end
            from provider_token
            where team_id = $1 and key_id = $2
            for update
            """)

    static let add = Statement(
        name: "provider_token_add",
        text: """
            insert into provider_token (team_id, key_id, sealed_token, issued_at)
            values ($1, $2, $3, $4)
            on conflict do nothing
            """)

    /// Team, key, token, when it was issued, whether because APNs refused the other.
    static let replace = Statement(
        name: "provider_token_replace",
        text: """
            update provider_token
            set sealed_token = $3, issued_at = $4, forced_at = case when $5 then clock_timestamp() else forced_at end
            where team_id = $1 and key_id = $2
            """)
}
