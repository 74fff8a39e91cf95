import Calendar
import Configuration
import Gateway
import JSON
import Observability
import Security
import Store

/// The commands that work on the database alone.
enum Commands {
    static func applySchema(_ arguments: consuming CommandArguments) async throws -> Report {
        try arguments.finish()
        return try await Session.run { session in
            try await session.store.applySchema()
            return Report(members: [("applied", .flag(true))], lines: ["The schema is applied."])
        }
    }

    static func listApplications(_ arguments: consuming CommandArguments) async throws -> Report {
        try arguments.finish()
        return try await Session.run { session in
            let applications = try await session.store.applications()
            return Report(
                members: [("apps", .list(applications.map(describe)))],
                lines: applications.isEmpty
                    ? ["There is no app yet; openpushctl app create makes one."] : applications.map(line))
        }
    }

    static func createKey(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let kind = try arguments.take("kind", expected: "rest, client or read") { KeyKind(name: $0) }
        try arguments.finish()
        return try await Session.run { session in
            let application = try await session.application(publicID)
            let key = try await session.store.createKey(kind: kind, application: application.id)
            return Report(
                members: [
                    ("key_id", .text("\(key.id)")), ("key", .text(key.key.exposed)), ("kind", .text(kind.name)),
                    ("app_id", .text("\(publicID)")),
                ],
                lines: [
                    "Key \(key.id) (\(kind.name)) is created. It is shown only now:", "", "  \(key.key.exposed)",
                ])
        }
    }

    static func listKeys(_ arguments: consuming CommandArguments) async throws -> Report {
        let wanted = arguments.takeOptional("app")
        let publicID = wanted.flatMap { UUID($0) }
        guard wanted == nil || publicID != nil else {
            throw CommandArguments.Mistake(description: "--app must be an app_id (UUID)")
        }
        try arguments.finish()
        return try await Session.run { session in
            let keys = try await session.store.keys().filter { publicID == nil || $0.applicationID == publicID }
            return Report(
                members: [
                    (
                        "keys",
                        .list(
                            keys.map { key in
                                [
                                    ("key_id", .text("\(key.id)")), ("app_id", .text("\(key.applicationID)")),
                                    ("kind", .text(key.kind.name)), ("created_at", .number(key.createdAt.seconds)),
                                    ("revoked", .flag(key.isRevoked)),
                                ]
                            })
                    )
                ],
                lines: keys.isEmpty
                    ? ["There is no key yet; openpushctl key create makes one."]
                    : keys.map { key in
                        "\(key.id)  app \(key.applicationID)  \(key.kind.name)  "
                            + "\(CivilDate(daysSince1970: key.createdAt.seconds / 86_400))\(key.isRevoked ? "  revoked" : "")"
                    })
        }
    }

    static func revokeKey(_ arguments: consuming CommandArguments) async throws -> Report {
        let id = try arguments.take("key-id", expected: "a key_id (UUID)") { UUID($0) }
        try arguments.finish()
        return try await Session.run { session in
            guard try await session.store.revokeKey(id) else {
                throw CommandFailure.data("there is no key \(id); openpushctl key list shows all")
            }
            return Report(
                members: [("key_id", .text("\(id)")), ("revoked", .flag(true))],
                lines: ["Key \(id) is revoked; no request with it is answered any more."])
        }
    }

    static func createSegment(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let name = try arguments.take("name", expected: nameExpectation, displayName)
        let text = try arguments.take("filters")
        try arguments.finish()
        let definition = try filters(text)
        return try await Session.run { session in
            let application = try await session.application(publicID)
            let creation = try await session.store.createSegment(
                NewSegment(id: nil, name: name, note: "", definition: definition), application: application.id)
            guard case .created(let id) = creation else {
                throw CommandFailure.data("the app has a segment of that name, or as many as it may have")
            }
            return Report(
                members: [("segment_id", .text("\(id)")), ("name", .text(name)), ("app_id", .text("\(publicID)"))],
                lines: ["Segment \(id) (\(name)) is created."])
        }
    }

    /// The value of `--filters`, once it is a list of filters.
    static func filters(_ text: String) throws(CommandFailure) -> [UInt8] {
        let definition = Array(text.utf8)
        do {
            _ = try FilterParser.parse(JSONDocument(parsing: definition).root, field: "filters")
        } catch let errors as FieldErrors {
            throw CommandFailure.data("--filters: \(errors.errors.map { "\($0)" }.joined(separator: "; "))")
        } catch {
            throw CommandFailure.data("--filters is no JSON: \(error)")
        }
        return definition
    }

    /// One line of `app list`.
    private static func line(_ application: Application) -> String {
        var words = ["\(application.publicID)", application.name]
        if let bundleID = application.bundleID {
            words.append("iOS \(bundleID)")
            if let key = application.providerKey { words.append("team \(key.teamID) key \(key.keyID)") }
        }
        if let package = application.androidPackageName { words.append("Android \(package)") }
        if let account = application.fcmAccount { words.append("FCM project \(account.projectID)") }
        words += [application.defaultEnvironment.name, describeSwitches(application)]
        return words.joined(separator: "  ")
    }

    static func describe(_ application: Application) -> [(String, Report.Value)] {
        [
            ("app_id", .text("\(application.publicID)")), ("name", .text(application.name)),
            ("bundle_id", .text(application.bundleID ?? "")), ("team_id", .text(application.providerKey?.teamID ?? "")),
            ("apns_key_id", .text(application.providerKey?.keyID ?? "")),
            ("environment", .text(application.defaultEnvironment.name)),
            ("device_routes_open", .flag(application.deviceAccess.isOpen)),
            ("identity_key", .flag(application.deviceAccess.identityKeyPEM != nil)),
            ("identity_required", .flag(application.deviceAccess.requiresIdentity)),
            ("live_notifications", .flag(application.hasLiveNotifications)),
            ("broadcast_channels", .flag(application.hasBroadcastChannels)),
            ("android_package", .text(application.androidPackageName ?? "")),
            ("fcm_project_id", .text(application.fcmAccount?.projectID ?? "")),
        ]
    }

    static let nameExpectation = "1 to \(AdmissionLimits.nameCharacterCount) characters and not blank"

    /// A name for people, by the rule of the API's names.
    static func displayName(_ text: String) -> String? {
        text.unicodeScalars.count <= AdmissionLimits.nameCharacterCount && !FieldRule.isBlank(text) ? text : nil
    }
}
