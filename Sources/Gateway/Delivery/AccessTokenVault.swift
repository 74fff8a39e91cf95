/// Names a service account of Google's that may send through FCM.
package struct FCMAccount: Hashable, Sendable {
    /// The Firebase project, of `project_id`.
    package let projectID: String
    /// Which of the account's keys, of `private_key_id`.
    package let keyID: String
    /// Puts both together.
    package init(projectID: String, keyID: String) {
        self.projectID = projectID
        self.keyID = keyID
    }
}

/// An OAuth 2 access token and how long it may be used.
package struct AccessToken: Hashable, Sendable {
    /// Without `Bearer`.
    package let token: String
    /// Seconds since 1970.
    package let expiresAt: Int64
    /// Puts both together.
    package init(token: String, expiresAt: Int64) {
        self.token = token
        self.expiresAt = expiresAt
    }
}

/// Where service accounts are kept and access tokens are shared by all daemons. Implemented by the store.
package protocol AccessTokenVault: Sendable {
    /// The service account's JSON file, opened with the master key; nil when no app has it or it cannot be opened.
    func serviceAccount(of account: FCMAccount) async throws(StorageError) -> [UInt8]?
    /// The token that lasts longest of those that were kept; nil when there is none.
    func accessToken(of account: FCMAccount) async throws(StorageError) -> AccessToken?
    /// Keeps a token for all daemons unless one is kept that lasts longer. Google honours several at a time.
    func keep(_ token: AccessToken, of account: FCMAccount) async throws(StorageError)
    /// Forgets a token that Google refuses, if it is still the one that is kept.
    func forget(_ token: AccessToken, of account: FCMAccount) async throws(StorageError)
}
