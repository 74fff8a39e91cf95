import FCM
import Gateway
import JSON
import Security
import Synchronization

/// A service account with a key of its own, made once: RSA keys take their time.
enum SampleAccount {
    static let key = RS256PrivateKey.generate()
    static let account = FCMAccount(projectID: "sample-project", keyID: "0123abcd")
    static let email = "push@sample-project.iam.gserviceaccount.com"

    static func json(project: String = "sample-project", _ changes: [String: String?] = [:]) -> [UInt8] {
        var members: [(String, String?)] = [
            ("type", "service_account"), ("project_id", project), ("private_key_id", "0123abcd"),
            ("private_key", String(decoding: key.pem, as: UTF8.self)), ("client_email", email), ("client_id", "1"),
            ("auth_uri", "https://accounts.google.com/o/oauth2/auth"), ("token_uri", "https://oauth2.googleapis.com/token"),
        ]
        for index in members.indices { if let change = changes[members[index].0] { members[index].1 = change } }
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in members { if let value { writer.member(name, value) } }
        writer.endObject()
        return writer.bytes
    }
}

/// A vault in memory.
final class MemoryVault: AccessTokenVault {
    struct State {
        var accounts: [FCMAccount: [UInt8]] = [:]
        var tokens: [FCMAccount: AccessToken] = [:]
        var keepFails = false
        var forgotten: [AccessToken] = []
    }

    let state: Mutex<State>

    init(accounts: [FCMAccount: [UInt8]] = [SampleAccount.account: SampleAccount.json()]) {
        state = Mutex(State(accounts: accounts))
    }

    func serviceAccount(of account: FCMAccount) async throws(StorageError) -> [UInt8]? { state.withLock { $0.accounts[account] } }
    func accessToken(of account: FCMAccount) async throws(StorageError) -> AccessToken? { state.withLock { $0.tokens[account] } }

    func keep(_ token: AccessToken, of account: FCMAccount) async throws(StorageError) {
        let fails = state.withLock { state in
            if !state.keepFails { state.tokens[account] = token }
            return state.keepFails
        }
        if fails { throw .unavailable }
    }

    func forget(_ token: AccessToken, of account: FCMAccount) async throws(StorageError) {
        state.withLock { state in
            state.forgotten.append(token)
            if state.tokens[account] == token { state.tokens[account] = nil }
        }
    }
}
