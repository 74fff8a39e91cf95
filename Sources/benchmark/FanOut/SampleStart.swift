import APNs
import Gateway
import JSON

/// The start every device gets, with a body of as many bytes as the reference measurement has.
struct SampleStart: Sendable {
    let activityType: String
    private let filling: String

    private static let attributes = #"{"home":"Lions","away":"Bears"}"#
    private static let title = "Kick-off"
    private static let text = "Lions v Bears"

    init(activityType: String) {
        self.activityType = activityType
        let empty = Self.content(activityType, filling: "")
        // Seconds since 1970 have ten digits until 2286.
        let byteCount = LiveActivityPayload().largestByteCount(
            of: empty, form: PayloadForm(service: .apnsProduction), timestamp: 1_764_480_000)
        filling = String(repeating: "x", count: max(0, SenderBenchmark.bodyByteCount - byteCount))
    }

    /// What the store keeps of it.
    var content: PushContent { Self.content(activityType, filling: filling) }

    private static func state(filling: String) -> String { #"{"home":0,"away":0,"note":"\#(filling)"}"# }

    private static func content(_ activityType: String, filling: String) -> PushContent {
        PushContent(
            event: .start, attributesType: activityType, attributes: Array(attributes.utf8),
            contentState: Array(state(filling: filling).utf8), alerts: [LocalizedAlert(language: "en", title: title, body: text)],
            sound: nil, staleDate: nil, dismissalDate: nil, relevanceScore: nil, priority: 10)
    }

    /// The request of a backend.
    func request(activityID: String) -> [UInt8] {
        Array(
            """
            {"event":"start","activity_id":"\(activityID)","name":"benchmark","event_attributes":\(Self.attributes),\
            "event_updates":\(Self.state(filling: filling)),"headings":{"en":"\(Self.title)"},"contents":{"en":"\(Self.text)"},\
            "included_segments":["All"]}
            """.utf8)
    }
}
