package import Gateway
import PostgreSQL
import Security

/// By what an app's devices are known and reached; nil leaves what is stored, or nothing.
package struct ApplicationCredentials: Sendable {
    /// A .p8 key of Apple's.
    package struct SigningKey: Sendable {
        package let key: ProviderKey
        /// PEM (PKCS #8).
        package let pem: [UInt8]
        /// Puts both together.
        package init(key: ProviderKey, pem: [UInt8]) {
            self.key = key
            self.pem = pem
        }
    }

    /// A service account of Google's.
    package struct ServiceAccount: Sendable {
        package let account: FCMAccount
        /// The file Google gave.
        package let json: [UInt8]
        /// Puts both together.
        package init(account: FCMAccount, json: [UInt8]) {
            self.account = account
            self.json = json
        }
    }

    package var bundleID: String?
    package var signingKey: SigningKey?
    package var androidPackageName: String?
    package var serviceAccount: ServiceAccount?

    /// Those that are given.
    package init(
        bundleID: String? = nil, signingKey: SigningKey? = nil, androidPackageName: String? = nil,
        serviceAccount: ServiceAccount? = nil
    ) {
        self.bundleID = bundleID
        self.signingKey = signingKey
        self.androidPackageName = androidPackageName
        self.serviceAccount = serviceAccount
    }

    /// App's columns from the third on, as `AdministrationStatements` have them.
    fileprivate var parameters: [Parameter] {
        [
            Parameter(bundleID), Parameter(signingKey?.key.teamID), Parameter(signingKey?.key.keyID),
            Parameter(androidPackageName), Parameter(serviceAccount?.account.projectID),
            Parameter(serviceAccount?.account.keyID),
        ]
    }

    /// Stores the keys, sealed. One that is known already is replaced, and with another one goes the token that the former one signed.
    fileprivate func calls(sealedBy sealingKey: SealingKey, forgetsToken: Bool) -> [StatementCall] {
        var calls: [StatementCall] = []
        if let signingKey {
            let (key, sealed) = (
                signingKey.key, sealingKey.seal(signingKey.pem, context: signingKey.key.signingKeyContext)
            )
            calls.append(
                StatementCall(
                    AdministrationStatements.putSigningKey, [.text(key.teamID), .text(key.keyID), .bytes(sealed)]))
            if forgetsToken {
                calls.append(StatementCall(AdministrationStatements.forgetToken, [.text(key.teamID), .text(key.keyID)]))
            }
        }
        if let serviceAccount {
            let account = serviceAccount.account
            let sealed = sealingKey.seal(serviceAccount.json, context: account.accountContext)
            calls.append(
                StatementCall(
                    AdministrationStatements.putServiceAccount,
                    [.text(account.projectID), .text(account.keyID), .bytes(sealed)]))
        }
        return calls
    }

    fileprivate var hasUsableKey: Bool { signingKey.map { (try? ES256PrivateKey(pem: $0.pem)) != nil } ?? true }
}

/// What became of an app's credentials.
package enum CredentialsChange: Sendable {
    case changed(Application)
    /// The text is no private key in PEM on P-256, as Apple's .p8 files are; nothing is stored.
    case unusableKey
    /// There is no such app.
    case unknown
}

extension Store {
    /// Adds an app with its credentials, which are sealed.
    package func createApplication(
        name: String, credentials: ApplicationCredentials, environment: PushEnvironment
    ) async throws(StorageError) -> ApplicationCreation {
        guard credentials.hasUsableKey else { return .unusableKey }
        let create = StatementCall(
            AdministrationStatements.createApplication,
            [.text(name), .int16(environment.rawValue)] + credentials.parameters)
        let results = try await run(try await calls(storing: credentials) + [create])
        return .created(results[results.count - 1].application(row: 0, firstColumn: 0))
    }

    /// Gives an app other credentials, from the next push on.
    package func setCredentials(_ credentials: ApplicationCredentials, of publicID: UUID)
        async throws(StorageError) -> CredentialsChange
    {
        guard credentials.hasUsableKey else { return .unusableKey }
        let change = StatementCall(
            AdministrationStatements.setCredentials, [.uuid(publicID), .null] + credentials.parameters)
        let results = try await run(try await calls(storing: credentials) + [change])
        let changed = results[results.count - 1]
        return changed.rowCount == 1 ? .changed(changed.application(row: 0, firstColumn: 0)) : .unknown
    }

    private func calls(storing credentials: ApplicationCredentials) async throws(StorageError) -> [StatementCall] {
        var isOther = false
        if let given = credentials.signingKey { isOther = try await signingKey(of: given.key) != given.pem }
        return credentials.calls(sealedBy: sealingKey, forgetsToken: isOther)
    }
}
