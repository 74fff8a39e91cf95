import Gateway
import Synchronization

/// Keeps one signing key and its provider token in memory.
final class MemoryVault: ProviderTokenVault {
    private let pem: [UInt8]
    private let token = Mutex<ProviderToken?>(nil)

    init(pem: [UInt8]) { self.pem = pem }

    func signingKey(of key: ProviderKey) async throws(StorageError) -> [UInt8]? { pem }
    func currentToken(of key: ProviderKey) async throws(StorageError) -> ProviderToken? { token.withLock { $0 } }
    func replaceToken(
        of key: ProviderKey, expected: ProviderToken?, with replacement: ProviderToken, forcedDistanceSeconds: Int64?
    ) async throws(StorageError) -> ProviderToken {
        token.withLock { token in
            if token == expected { token = replacement }
            return token ?? replacement
        }
    }
}
