import Configuration
import FCM
import Gateway
import Security
import Store

/// The commands that say by what an app's devices are known and reached.
extension Commands {
    static func createApplication(_ arguments: consuming CommandArguments) async throws -> Report {
        let name = try arguments.take("name", expected: nameExpectation, displayName)
        let environmentName = arguments.takeOptional("environment") ?? PushEnvironment.production.name
        guard let environment = PushEnvironment(name: environmentName) else {
            throw CommandArguments.Mistake(description: "--environment must be production or sandbox")
        }
        let files = try CredentialFiles(&arguments)
        try arguments.finish()
        guard files.bundleID != nil || files.androidPackageName != nil else {
            throw CommandArguments.Mistake(description: "say what the app is: --bundle-id, --android-package or both")
        }
        guard files.signingKey != nil || files.serviceAccountPath != nil else {
            throw CommandArguments.Mistake(
                description:
                    "nothing can reach the app's devices without --key-file (with --team-id and --key-id) or --fcm-key-file")
        }
        let credentials = try files.read()
        return try await Session.run(needs: [.masterKey]) { session in
            let creation = try await session.store.createApplication(
                name: name, credentials: credentials, environment: environment)
            guard case .created(let application) = creation else { throw files.unusableKey }
            let names = [application.bundleID, application.androidPackageName].compactMap { $0 }.joined(separator: ", ")
            return Report(
                members: describe(application), lines: ["App \(application.publicID) (\(name), \(names)) is created."])
        }
    }

    /// Stores what was read; nil when there is nothing to store.
    static func setCredentials(
        _ files: CredentialFiles, of publicID: UUID, session: Session
    ) async throws -> Application? {
        guard !files.isEmpty else { return nil }
        switch try await session.store.setCredentials(try files.read(), of: publicID) {
        case .changed(let application): return application
        case .unusableKey: throw files.unusableKey
        case .unknown: throw CommandFailure.data("there is no app \(publicID); openpushctl app list shows all")
        }
    }
}

/// The options that name an app's credentials, and the files in which they are.
struct CredentialFiles {
    let bundleID: String?
    /// Team, key and the path of the .p8 file.
    let signingKey: (key: ProviderKey, path: String)?
    let androidPackageName: String?
    let serviceAccountPath: String?

    var isEmpty: Bool {
        bundleID == nil && signingKey == nil && androidPackageName == nil && serviceAccountPath == nil
    }

    init(_ arguments: inout CommandArguments) throws(CommandArguments.Mistake) {
        bundleID = try arguments.takeOptional(
            "bundle-id", expected: "a bundle identifier such as com.example.app", Self.packageName)
        androidPackageName = try arguments.takeOptional(
            "android-package", expected: "a package name such as com.example.app", Self.packageName)
        serviceAccountPath = arguments.takeOptional("fcm-key-file")
        let expected = "1 to 32 letters and digits"
        let teamID = try arguments.takeOptional("team-id", expected: expected, Self.appleIdentifier)
        let keyID = try arguments.takeOptional("key-id", expected: expected, Self.appleIdentifier)
        switch (teamID, keyID, arguments.takeOptional("key-file")) {
        case (nil, nil, nil): signingKey = nil
        case (let teamID?, let keyID?, let path?): signingKey = (ProviderKey(teamID: teamID, keyID: keyID), path)
        case (nil, _, _): throw CommandArguments.Mistake(description: "--team-id is missing")
        case (_, nil, _): throw CommandArguments.Mistake(description: "--key-id is missing")
        case (_, _, nil): throw CommandArguments.Mistake(description: "--key-file is missing")
        }
    }

    func read() throws(CommandFailure) -> ApplicationCredentials {
        var credentials = ApplicationCredentials(bundleID: bundleID, androidPackageName: androidPackageName)
        if let signingKey {
            credentials.signingKey = ApplicationCredentials.SigningKey(
                key: signingKey.key, pem: try Self.contents(of: signingKey.path))
        }
        if let serviceAccountPath {
            let json = try Self.contents(of: serviceAccountPath)
            credentials.serviceAccount = ApplicationCredentials.ServiceAccount(
                account: try Self.account(json, path: serviceAccountPath), json: json)
        }
        return credentials
    }

    var unusableKey: CommandFailure {
        .data(
            "\(signingKey?.path ?? "the file") is not a .p8 signing key: a PEM private key on the curve P-256 is expected")
    }

    private static func contents(of path: String) throws(CommandFailure) -> [UInt8] {
        do { return try CredentialFile.read(path: path) } catch { throw CommandFailure.noInput("\(path) cannot be read") }
    }

    private static func account(_ json: [UInt8], path: String) throws(CommandFailure) -> FCMAccount {
        do { return try FCM.ServiceAccount(json: json).account } catch {
            throw CommandFailure.data("\(path) is not the key file of a service account of Google's: \(error)")
        }
    }

    private static func appleIdentifier(_ text: String) -> String? {
        (1...32).contains(text.utf8.count) && text.utf8.allSatisfy(FieldRule.isLetterOrDigit) ? text : nil
    }

    /// Of iOS or Android: both are made of the same characters, but for Android's underscore.
    private static func packageName(_ text: String) -> String? {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                FieldRule.isLetterOrDigit($0) || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains($0)
            }
            ? text : nil
    }
}
