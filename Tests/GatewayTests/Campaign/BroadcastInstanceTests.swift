import Testing

@testable import Gateway

@Suite("An instance of a campaign") struct BroadcastInstanceTests {
    private static let now: Int64 = 1_800_000_000
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let other = [UInt8](repeating: 8, count: 32)

    private static func instance(
        age: Int64 = 60, dismissal: Int64? = nil, isEnded: Bool = false, wasDismissed: Bool = false, latest: [UInt8]? = nil
    ) -> BroadcastInstance {
        BroadcastInstance(
            id: "1-00000000", startedAt: now - age, dismissalDate: dismissal.map { now + $0 }, isEnded: isEnded,
            wasDismissed: wasDismissed, latestDigest: latest)
    }

    private static func request(_ event: ActivityEvent = .update, named: Bool = true) -> BroadcastUpdate {
        BroadcastUpdate(
            campaign: "match", instanceID: named ? "1-00000000" : nil, event: event,
            state: BroadcastState(
                contentState: Array("{}".utf8), alert: LocalizedAlert(language: "en", title: "T", body: nil), sound: nil,
                staleDate: nil, dismissalDate: nil),
            digest: digest)
    }

    /// The instance, the request, and why it is refused.
    static let cases: [(BroadcastInstance, BroadcastUpdate, BroadcastRefusal?)] = [
        (instance(), request(), nil), (instance(latest: other), request(), nil),
        (instance(latest: digest), request(), .duplicate), (instance(latest: digest), request(named: false), nil),
        (instance(isEnded: true), request(), .notRunning),
        (instance(isEnded: true, latest: digest), request(.end), .duplicate),
        (instance(isEnded: true, latest: digest), request(.end, named: false), .notRunning),
        (instance(isEnded: true, wasDismissed: true), request(), .dismissed),
        (instance(dismissal: 1), request(), nil), (instance(dismissal: 0), request(), .dismissed),
        (instance(dismissal: -5), request(.end), .dismissed),
        (instance(age: 8 * 3_600 - 1), request(), nil), (instance(age: 8 * 3_600), request(), .notRunning),
        (instance(age: 8 * 3_600), request(.end), nil), (instance(age: 12 * 3_600), request(.end), .notRunning),
    ]

    @Test("takes what it can still show", arguments: cases)
    func refusal(instance: BroadcastInstance, request: BroadcastUpdate, expected: BroadcastRefusal?) {
        #expect(instance.refusal(of: request, now: Self.now) == expected)
    }

    @Test("runs until it is ended, dismissed, or too old to be updated")
    func runs() {
        #expect(Self.instance().isRunning(now: Self.now))
        #expect(!Self.instance(isEnded: true).isRunning(now: Self.now))
        #expect(!Self.instance(dismissal: 0).isRunning(now: Self.now))
        #expect(!Self.instance(age: 8 * 3_600).isRunning(now: Self.now))
    }

    @Test("gets an identifier of milliseconds and eight hexadecimal digits")
    func mints() {
        let ids = (0..<100).map { _ in BroadcastInstance.mint(milliseconds: 1_749_822_841_120) }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /1749822841120-[0-9a-f]{8}/) != nil })
    }

    @Test("is told to the SDK at the end of the caller's objects, in place of what they call so")
    func injects() {
        let campaign = UUID(high: 0x1111_2222_3333_4444, low: 0x8555_6666_7777_8888)
        let mark = CampaignMark(
            instanceID: "1-00000000",
            start: CampaignMark.Start(campaign: campaign, campaignName: "Final", attributesType: "Match", application: campaign))
        func content(_ attributes: String, _ state: String) -> PushContent {
            PushContent(
                event: .start, attributesType: "Match", attributes: Array(attributes.utf8), contentState: Array(state.utf8),
                alerts: [], sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10, campaign: mark)
        }
        let id = "11112222-3333-4444-8555-666677778888"
        let told =
            #""moengage":{"cid":"\#(id)","moe_campaign_name":"Final","moe_delivery_type":"Broadcast Live Activity","#
            + #""moe_attribute_type":"Match","app_id":"\#(id)"}"#
        let instance = #""moengage":{"moe_instance_id":"1-00000000"}"#
        let plain = content(#"{ "home" : 1.0 }"#, "{}")
        #expect(String(decoding: plain.deviceAttributes ?? [], as: UTF8.self) == #"{ "home" : 1.0 ,\#(told)}"#)
        #expect(String(decoding: plain.deviceContentState, as: UTF8.self) == "{\(instance)}")
        let named = content(#"{"moengage":1,"a":2}"#, #"{"moengage":{},"b":1e2}"#)
        #expect(String(decoding: named.deviceAttributes ?? [], as: UTF8.self) == #"{"a":2,\#(told)}"#)
        #expect(String(decoding: named.deviceContentState, as: UTF8.self) == #"{"b":1e2,\#(instance)}"#)
    }
}
