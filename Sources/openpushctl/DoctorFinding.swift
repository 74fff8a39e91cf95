import Gateway

/// What APNs' answer to the doctor's push says about each part of the credentials.
struct DoctorFinding {
    /// What can be wrong.
    enum Part: String, CaseIterable {
        case key
        case team
        case topic
        case environment
    }
    /// What APNs thinks of a part.
    enum Verdict: String {
        case good
        case refused
        case unknown
    }

    /// APNs' reason, or why there is none.
    let answer: String
    let verdicts: [Part: Verdict]
    /// What it means and what to do.
    let advice: String
    var isGood: Bool { Part.allCases.allSatisfy { verdicts[$0] == .good } }

    init(_ outcome: PushOutcome) {
        switch outcome {
        case .accepted: self.init(answer: "Accepted", allGood: "APNs accepted the push: the credentials are good.")
        case .rejected(let reason), .tokenDead(let reason, _), .deferred(let reason, _): self.init(reason)
        case .notSent, .unknown:
            self.init(
                answer: "NoAnswer", refused: [], advice: "APNs did not answer in time. Check the way out to it, and the APNs URL."
            )
        }
    }

    private init(_ reason: DeliveryReason) {
        let name = reason.name
        switch reason {
        case .badDeviceToken, .unregistered, .expiredToken:
            self.init(answer: name, allGood: "APNs refused only the device token, which no device has: the credentials are good.")
        case .invalidProviderToken:
            self.init(
                answer: name, refused: [.key, .team],
                advice: "APNs does not know this key for this team, or the .p8 file belongs to another key id. Check all three.")
        case .forbidden, .credentialsRefused:
            self.init(answer: name, refused: [.key], advice: "The key is refused; it may have been revoked. Make a new one.")
        case .expiredProviderToken:
            self.init(answer: name, refused: [.key], advice: "APNs calls a fresh token expired. Check this machine's clock.")
        case .topicDisallowed, .badTopic, .missingTopic, .deviceTokenNotForTopic:
            self.init(
                answer: name, good: [.key, .team], refused: [.topic],
                advice: "The key may not push to this bundle id. Check --bundle-id and the topics the key is restricted to.")
        case .badEnvironmentKeyInToken:
            self.init(
                answer: name, good: [.team], refused: [.environment],
                advice: "The key belongs to the other environment. Use a key for this one, or the other --environment.")
        case .connectionFailed:
            self.init(
                answer: name, refused: [],
                advice: "No connection to APNs could be made. Check the APNs URL, the way out, and OPENPUSH_APNS_CA_FILE.")
        default:
            self.init(
                answer: name, refused: [], advice: "APNs answered \(name), which says nothing about the credentials. Try again.")
        }
    }

    private init(answer: String, allGood advice: String) {
        self.init(answer: answer, good: Part.allCases, refused: [], advice: advice)
    }

    private init(answer: String, good: [Part] = [], refused: [Part], advice: String) {
        self.answer = answer
        self.advice = advice
        let pairs = good.map { ($0, Verdict.good) } + refused.map { ($0, Verdict.refused) }
        verdicts = Dictionary(uniqueKeysWithValues: pairs)
    }
}
