package import Gateway
import PostgreSQL
import Security

extension Store: AccessTokenVault {
    package func serviceAccount(of account: FCMAccount) async throws(StorageError) -> [UInt8]? {
        let found = try await query(AccessTokenStatements.serviceAccount, account.parameters)
        guard found.rowCount == 1 else { return nil }
        return try? sealingKey.open(found.bytes(row: 0, column: 0), context: account.accountContext)
    }

    package func accessToken(of account: FCMAccount) async throws(StorageError) -> AccessToken? {
        let found = try await query(AccessTokenStatements.find, account.parameters)
        // One that cannot be opened was sealed with another master key: it is as good as none.
        guard found.rowCount == 1,
            let token = try? sealingKey.open(found.bytes(row: 0, column: 0), context: account.tokenContext)
        else { return nil }
        return AccessToken(token: String(decoding: token, as: UTF8.self), expiresAt: found.int64(row: 0, column: 1))
    }

    package func keep(_ token: AccessToken, of account: FCMAccount) async throws(StorageError) {
        let sealed = sealingKey.seal(Array(token.token.utf8), context: account.tokenContext)
        try await query(AccessTokenStatements.keep, account.parameters + [.bytes(sealed), .int64(token.expiresAt)])
    }

    package func forget(_ token: AccessToken, of account: FCMAccount) async throws(StorageError) {
        // Sealing is random: what is stored is compared once it is open.
        guard try await accessToken(of: account) == token else { return }
        try await query(AccessTokenStatements.forget, account.parameters + [.int64(token.expiresAt)])
    }
}

extension FCMAccount {
    fileprivate var parameters: [Parameter] { [.text(projectID), .text(keyID)] }
    /// What a sealed service account is bound to: it opens in no other place.
    var accountContext: [UInt8] { Array("service-account/\(projectID)/\(keyID)".utf8) }
    fileprivate var tokenContext: [UInt8] { Array("access-token/\(projectID)/\(keyID)".utf8) }
}

enum AccessTokenStatements {
    static let all = [serviceAccount, find, keep, forget]

    static let serviceAccount = Statement(
        name: "fcm_service_account", text: "select sealed_json from service_account where project_id = $1 and key_id = $2")

    static let find = Statement(
        name: "fcm_access_token",
        text: """
            select sealed_token, expires_at from service_account
            where project_id = $1 and key_id = $2 and sealed_token is not null
            """)

    /// Project, key, token, when it expires.
    static let keep = Statement(
        name: "fcm_keep_access_token",
        text: """
            update service_account
            set sealed_token = $3, expires_at = $4
            where project_id = $1 and key_id = $2 and (expires_at is null or expires_at < $4)
            """)

    /// Project, key, when the refused one would have expired.
    static let forget = Statement(
        name: "fcm_forget_access_token",
        text: """
            update service_account
            set sealed_token = null, expires_at = null
            where project_id = $1 and key_id = $2 and expires_at = $3
            """)
}
