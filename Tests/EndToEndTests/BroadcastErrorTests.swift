import APNsSimulator
import Foundation
import HTTP
import JSON
import PostgreSQL
import TestSupport
import Testing

/// Every error that MoEngage's specification (version 1.0) documents, provoked through the running daemon.
@Suite("MoEngage's documented errors", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5)))
struct BroadcastErrorTests {
    private static let operations = ["start", "update", "end"]

    private static func expect(
        _ answer: Answer, _ status: Int, _ code: String, _ message: String, _ operation: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, "\(operation)", sourceLocation: sourceLocation)
        #expect(
            answer.text == #"{"error":{"code":"\#(code)","message":"\#(message)"}}"#, "\(operation)",
            sourceLocation: sourceLocation)
        #expect(answer.headers["content-type"] == "application/json", sourceLocation: sourceLocation)
    }

    private static func body(
        _ operation: String, _ campaign: String, instance: String? = nil, more: String = "", alert: String = ""
    )
        -> String
    {
        Deployment.broadcastBody(campaign, instance: instance, isStart: operation == "start", more: more, alert: alert)
    }

    /// Forgets what was counted, so that the minute is not what a test waits for.
    private static func forgetRates(_ gateway: Deployment) async throws {
        try await gateway.execute("delete from campaign_rate_limit")
    }

    /// An app that is reached through FCM only.
    private static func appWithoutSigningKey(_ gateway: Deployment) async throws -> Deployment.App {
        let file = try TestHTTPClient.temporaryFile(GoogleAccount.makeServiceAccount(projectID: "keyless"))
        defer { try? FileManager.default.removeItem(at: file) }
        let made = try await gateway.control(
            "app", "create", "--name", "Keyless", "--bundle-id", "com.example.keyless", "--fcm-key-file", file.path)
        let id = try #require(made.answer?["app_id"]?.string, "\(made.errors)")
        let key = try await gateway.control("key", "create", "--app", id, "--kind", "rest")
        return Deployment.App(id: id, restKey: try #require(key.answer?["key"]?.string), clientKey: "", readKey: "")
    }

    @Test("400 and 401 say what is wrong before anything is counted")
    func malformed() async throws {
        try await Deployment.run { gateway in
            for operation in Self.operations {
                let path = "/v1.0/live-activity/broadcast/\(operation)"
                let body = Self.body(operation, "match")
                let extra = try await gateway.broadcast(operation, Self.body(operation, "match", alert: #","metrics":1"#))
                #expect(extra.status == 400)
                #expect(
                    extra.text
                        == #"{"error":{"code":"PayloadError","message":"Mandatory fields are missing or invalid","details":["#
                        + #"{"code":"extra_forbidden","target":"ios.alert.metrics","message":"Extra inputs are not permitted"}]}}"#
                )
                let stranger = try await gateway.sendBroadcast(
                    path, key: gateway.app.restKey, workspace: "00000000-0000-4000-8000-000000000000", body: body)
                Self.expect(stranger, 401, "AuthError", "Invalid App Key", operation)
                let wrongKey = try await gateway.sendBroadcast(path, key: "nonsense", body: body)
                Self.expect(wrongKey, 401, "AuthError", "Invalid Data Key", operation)
                let none = try await gateway.sendBroadcast(path, key: nil, body: body)
                Self.expect(none, 401, "AuthError", "Authorization header or X-MOE-APPKEY is missing", operation)
            }
            let counted = try await gateway.withSession {
                try await $0.queryUnprepared("select count(*) from campaign_rate_limit", []).int64(row: 0, column: 0)
            }
            #expect(counted == 0)
        }
    }

    @Test("403 says why the operation is not allowed")
    func notAllowed() async throws {
        try await Deployment.run { gateway in
            let code = "OperationNotAllowed"
            func answer(_ operation: String, _ campaign: String = "match", _ instance: String? = nil, more: String = "")
                async throws -> Answer
            {
                try await Self.forgetRates(gateway)
                return try await gateway.broadcast(
                    operation, Self.body(operation, campaign, instance: instance, more: more))
            }
            for operation in Self.operations {
                Self.expect(try await answer(operation), 403, code, "Campaign not found for match", operation)
            }
            try await gateway.createCampaign("match")
            for operation in ["update", "end"] {
                Self.expect(try await answer(operation), 403, code, "Invalid Action", operation)
            }
            let keyless = try await Self.appWithoutSigningKey(gateway)
            for operation in Self.operations {
                Self.expect(
                    try await gateway.broadcast(operation, Self.body(operation, "match"), app: keyless), 403, code,
                    "Only IOS token auth is allowed, please upload .p8 file", operation)
            }

            Self.expect(
                try await answer("start", more: #","dismissal_date":1"#), 403, code, "Dismissal date is already passed", "start")
            #expect(try await answer("start", "match", "first").status == 200)
            let duplicate = "Duplicate Request, please use different instance_id"
            Self.expect(try await answer("start", "match", "first"), 403, code, duplicate, "start")
            Self.expect(try await answer("start", "match", "second"), 403, code, "Max Instances Limit Reached", "start")
            for operation in ["update", "end"] {
                Self.expect(
                    try await answer(operation, "match", "second"), 403, code, "Max Instances Limit Reached", operation)
            }
            for operation in ["update", "end"] {
                #expect(try await answer(operation, "match", "first").status == 200)
                Self.expect(try await answer(operation, "match", "first"), 403, code, duplicate, operation)
            }
            for operation in ["update", "end"] {
                Self.expect(try await answer(operation), 403, code, "Invalid Action", operation)
            }
            #expect(try await answer("start", "match", "third").status == 200)
            #expect(try await answer("update", "match", "third", more: #","dismissal_date":1"#).status == 200)
            for operation in ["update", "end"] {
                Self.expect(
                    try await answer(operation, "match", "third"), 403, code, "Dismissal date is already passed", operation)
            }
        }
    }

    @Test("413 and 500 say what stands in the way")
    func tooLargeAndBroken() async throws {
        try await Deployment.run { gateway in
            try await gateway.createCampaign("match")
            let filler = String(repeating: "x", count: 5_120)
            for operation in Self.operations {
                let large = try await gateway.broadcast(
                    operation, Self.body(operation, "match", alert: #","subtitle":"\#(filler)""#))
                Self.expect(
                    large, 413, "PayloadSizeError", "Payload size exceeded for IOS. Max size is 5120 bytes", operation)
            }
            // A start goes to each device by itself, for which Apple takes less.
            let start = Self.body("start", "match", alert: #","subtitle":"\#(filler.dropLast(1_024))""#)
            Self.expect(
                try await gateway.broadcast("start", start), 413, "PayloadSizeError",
                "Payload size exceeded for IOS. Max size is 4096 bytes", "start")
            try await gateway.execute("alter table campaign rename to campaign_away")
            for operation in Self.operations {
                let broken = try await gateway.broadcast(operation, Self.body(operation, "match"))
                Self.expect(broken, 500, "ServerError", "Internal Server Error, something went wrong", operation)
            }
            try await gateway.execute("alter table campaign_away rename to campaign")
            #expect(try await gateway.broadcast("start", Self.body("start", "match")).status == 200)
        }
    }

    @Test("429 has an empty list and says when to come again: after 5 starts, 500 updates and ends, and 5 of one campaign")
    func tooMany() async throws {
        try await Deployment.run { gateway in
            try await gateway.createCampaign("match")
            try await gateway.createCampaign("other")
            func expectLimit(_ answer: Answer, _ operation: String) throws {
                #expect(answer.status == 429 && answer.text == "[]", "\(operation): \(answer.text)")
                let seconds = try #require(answer.headers["retry-after"].flatMap { Int($0) })
                #expect((1...60).contains(seconds))
            }
            for operation in Self.operations {
                let body = Self.body(operation, "match")
                for _ in 1...5 { #expect(try await gateway.broadcast(operation, body).status != 429) }
                try expectLimit(try await gateway.broadcast(operation, body), operation)
            }
            // Starts are counted for the workspace, the others for the campaign as well.
            try expectLimit(try await gateway.broadcast("start", Self.body("start", "other")), "start of another")
            for operation in ["update", "end"] {
                #expect(try await gateway.broadcast(operation, Self.body(operation, "other")).status == 403)
            }
            try await gateway.execute(
                """
                update campaign_rate_limit set calls = array_fill(clock_timestamp(), array[500])
                where campaign_number = 0 and kind in (1, 2)
                """)
            for operation in ["update", "end"] {
                try expectLimit(try await gateway.broadcast(operation, Self.body(operation, "other")), operation)
            }
        }
    }
}
