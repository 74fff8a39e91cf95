import Testing

@testable import Gateway

@Suite("Collapse identifier") struct CollapseIdentifierTests {
    private static func identifier(_ activityID: String, _ event: ActivityEvent = .start) -> String? {
        let content = PushContent(
            event: event, attributesType: nil, attributes: nil, contentState: Array("{}".utf8), alerts: [], sound: nil,
            staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
        let job = PushJob(
            notification: NotificationID(rawValue: 1), application: WorkerBench.application(1), activityID: activityID,
            content: content, timestamp: 1, expiresAt: 2)
        return ActiveJob(job: job, renderer: LanguageRenderer()).collapseID
    }

    // Expected values come from a 64-bit FNV-1a of another language.
    @Test(
        "is the activity's own where Apple takes it, and its hash in 16 digits where not",
        arguments: [
            ("match-1", "match-1"), (String(repeating: "a", count: 64), String(repeating: "a", count: 64)),
            (String(repeating: "a", count: 65), "8087e9a889f8a14c"), ("Spiel 1", "6fe14ea686941a3f"),
            ("Übertragung", "d40a784042d8f4ef"), ("spiel 3500", "0007b140d0cf2cb0"),
        ])
    func identifiers(activityID: String, expected: String) {
        #expect(Self.identifier(activityID) == expected)
    }

    @Test("is for starts alone")
    func startsAlone() {
        #expect(Self.identifier("match-1", .update) == nil)
        #expect(Self.identifier("match-1", .end) == nil)
    }
}
