import Configuration
import Gateway
import Observability
import Store

/// Tries an app's credentials with every service it has some for, and reads what the service thinks of them.
enum Doctor {
    static func run(_ arguments: consuming CommandArguments) async throws -> Report {
        let publicID = try arguments.take("app", expected: "an app_id (UUID)") { UUID($0) }
        let wanted = arguments.takeOptional("environment")
        guard wanted == nil || PushEnvironment(name: wanted ?? "") != nil else {
            throw CommandArguments.Mistake(description: "--environment must be production or sandbox")
        }
        try arguments.finish()
        return try await Session.run(needs: [.masterKey, .pushServices]) { session in
            if let complaint = await session.store.reachability().complaint { throw CommandFailure.database(complaint) }
            let application = try await session.application(publicID)
            let environment = wanted.flatMap { PushEnvironment(name: $0) } ?? application.defaultEnvironment
            try await openCredentials(of: application, session)
            let examination = DoctorExamination(session: session, application: application, environment: environment)
            return report(try await examination.findings(), application: application, environment: environment)
        }
    }

    private static func openCredentials(of application: Application, _ session: Session) async throws {
        if let key = application.providerKey, try await session.store.signingKey(of: key) == nil {
            throw CommandFailure.negative(
                "The stored signing key of \(application.publicID) cannot be opened: OPENPUSH_MASTER_KEY is not the one it was sealed with."
            )
        }
        if let account = application.fcmAccount, try await session.store.serviceAccount(of: account) == nil {
            throw CommandFailure.negative(
                "The stored service account of \(application.publicID) cannot be opened: OPENPUSH_MASTER_KEY is not the one it was sealed with."
            )
        }
    }

    private static func report(_ findings: [DoctorFinding], application: Application, environment: PushEnvironment) -> Report {
        let isGood = findings.allSatisfy(\.isGood)
        var members: [(String, Report.Value)] = [
            ("app_id", .text("\(application.publicID)")), ("environment_name", .text(environment.name)), ("good", .flag(isGood)),
        ]
        var lines = ["App \(application.publicID): \(place(of: application, environment))"]
        for finding in findings {
            members.append((finding.service.answerName, .text(finding.answer)))
            for part in finding.service.parts {
                let verdict = finding.verdicts[part] ?? .unknown
                members.append((part.name, .text(verdict.rawValue)))
                lines.append("  \(part.rawValue): \(verdict.rawValue)")
            }
        }
        let advice = findings.map(\.advice)
        return Report(
            members: members + [("advice", .text(advice.joined(separator: " ")))], lines: lines + advice, status: isGood ? 0 : 1)
    }

    private static func place(of application: Application, _ environment: PushEnvironment) -> String {
        var words = ["\(application.bundleID ?? "no bundle identifier") in \(environment.name)"]
        if let key = application.providerKey { words.append("team \(key.teamID), key \(key.keyID)") }
        if let account = application.fcmAccount { words.append("project \(account.projectID)") }
        return words.joined(separator: ", ")
    }
}
