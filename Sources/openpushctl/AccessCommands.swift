import Configuration
import Gateway
import Security
import Store

/// The command that says how devices of an app come in, and which dialects answer for it.
extension Commands {
    static func setApplication(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let isOpen = try takeSwitch("open-device-routes", &arguments)
        let requiresIdentity = try takeSwitch("require-identity", &arguments)
        let hasLiveNotifications = try takeSwitch("live-notifications", &arguments)
        let hasBroadcastChannels = try takeSwitch("broadcast-channels", &arguments)
        let path = arguments.takeOptional("identity-key-file")
        let files = try CredentialFiles(&arguments)
        try arguments.finish()
        guard
            isOpen != nil || requiresIdentity != nil || path != nil || hasLiveNotifications != nil
                || hasBroadcastChannels != nil || !files.isEmpty
        else {
            throw CommandArguments.Mistake(
                description:
                    "say what to set: credentials, --open-device-routes, --identity-key-file, --require-identity, "
                    + "--live-notifications or --broadcast-channels")
        }
        var pem: [UInt8]?
        if let path {
            guard let bytes = try? CredentialFile.read(path: path) else { throw CommandFailure.noInput("\(path) cannot be read") }
            pem = bytes
        }
        let key = pem
        return try await Session.run(needs: files.isEmpty ? [] : [.masterKey]) { session in
            let change = try await session.store.setDeviceAccess(
                of: publicID, isOpen: isOpen, identityKeyPEM: key, requiresIdentity: requiresIdentity)
            switch change {
            case .changed(var application):
                application = try await setCredentials(files, of: publicID, session: session) ?? application
                if let hasLiveNotifications {
                    application =
                        try await session.store.setLiveNotifications(hasLiveNotifications, of: publicID) ?? application
                }
                if let hasBroadcastChannels {
                    application =
                        try await session.store.setBroadcastChannels(hasBroadcastChannels, of: publicID) ?? application
                }
                return Report(
                    members: describe(application),
                    lines: ["App \(application.publicID): \(describeSwitches(application))."])
            case .unknown: throw CommandFailure.data("there is no app \(publicID); openpushctl app list shows all")
            case .unusableKey:
                throw CommandFailure.data(
                    "\(path ?? "the file") is not a public key: PEM (BEGIN PUBLIC KEY) on the curve P-256 is expected")
            case .noKey:
                throw CommandFailure.data("app \(publicID) has no identity key; give --identity-key-file as well")
            }
        }
    }

    /// How devices come in and what is switched on, for people.
    static func describeSwitches(_ application: Application) -> String {
        "\(describeAccess(application.deviceAccess)), live notifications \(application.hasLiveNotifications ? "on" : "off"), "
            + "broadcast channels \(describeChannels(application))"
    }

    private static func describeChannels(_ application: Application) -> String {
        guard application.hasBroadcastChannels else { return "off" }
        return application.usesChannels ? "on" : "on, but without a bundle identifier and a key of Apple's there are none"
    }

    /// How devices come in, for people.
    static func describeAccess(_ access: DeviceAccess) -> String {
        let identity =
            access.requiresIdentity
            ? "identity required" : access.identityKeyPEM == nil ? "no identity key" : "identity accepted, not required"
        return "device routes \(access.isOpen ? "open" : "closed"), \(identity)"
    }

    /// Takes an option that is `on` or `off`.
    private static func takeSwitch(_ name: String, _ arguments: inout CommandArguments) throws(CommandArguments.Mistake) -> Bool?
    {
        guard let value = arguments.takeOptional(name) else { return nil }
        switch value {
        case "on": return true
        case "off": return false
        default: throw CommandArguments.Mistake(description: "--\(name) must be on or off")
        }
    }
}
