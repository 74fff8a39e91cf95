import Gateway

/// What a service's answer to the doctor says about each part of the credentials.
struct DoctorFinding {
    /// Who was asked.
    enum Service {
        case apns
        case channels
        case fcm

        var parts: [Part] {
            switch self {
            case .apns: [.key, .team, .topic, .environment]
            case .channels: [.channels]
            case .fcm: [.account, .project]
            }
        }
        /// The name of the answer in JSON.
        var answerName: String {
            switch self {
            case .apns: "answer"
            case .channels: "channels_answer"
            case .fcm: "fcm_answer"
            }
        }
    }
    /// What can be wrong.
    enum Part: String {
        case key
        case team
        case topic
        case environment
        case channels
        case account = "FCM account"
        case project = "FCM project"

        /// The name in JSON.
        var name: String {
            switch self {
            case .key, .team, .topic, .environment, .channels: rawValue
            case .account: "fcm_account"
            case .project: "fcm_project"
            }
        }
    }
    /// What the service thinks of a part.
    enum Verdict: String {
        case good
        case refused
        case unknown
    }

    let service: Service
    /// The service's reason, or why there is none.
    let answer: String
    let verdicts: [Part: Verdict]
    /// What it means and what to do.
    let advice: String
    var isGood: Bool { service.parts.allSatisfy { verdicts[$0] == .good } }

    /// A service that was not asked, because another has refused the same already.
    static func untried(_ service: Service) -> DoctorFinding {
        DoctorFinding(service, answer: "NotAsked", advice: "Broadcast channels were not asked about.")
    }

    private init(_ service: Service, answer: String, good: [Part] = [], refused: [Part] = [], advice: String) {
        self.service = service
        self.answer = answer
        self.advice = advice
        let pairs = good.map { ($0, Verdict.good) } + refused.map { ($0, Verdict.refused) }
        verdicts = Dictionary(uniqueKeysWithValues: pairs)
    }
}

// MARK: APNs

extension DoctorFinding {
    init(apns outcome: PushOutcome) {
        switch outcome {
        case .accepted: self.init(apnsAnswer: "Accepted", allGood: "APNs accepted the push: the credentials are good.")
        case .rejected(let reason), .tokenDead(let reason, _), .deferred(let reason, _): self.init(apns: reason)
        case .notSent, .unknown:
            self.init(
                .apns, answer: "NoAnswer", advice: "APNs did not answer in time. Check the way out to it, and the APNs URL.")
        }
    }

    private init(apns reason: DeliveryReason) {
        let name = reason.name
        switch reason {
        case .badDeviceToken, .unregistered, .expiredToken:
            self.init(
                apnsAnswer: name, allGood: "APNs refused only the device token, which no device has: the credentials are good.")
        case .invalidProviderToken:
            self.init(
                .apns, answer: name, refused: [.key, .team],
                advice: "APNs does not know this key for this team, or the .p8 file belongs to another key id. Check all three.")
        case .forbidden, .credentialsRefused:
            self.init(
                .apns, answer: name, refused: [.key],
                advice: "The key is refused; it may have been revoked. Make a new one.")
        case .expiredProviderToken:
            self.init(
                .apns, answer: name, refused: [.key],
                advice: "APNs calls a fresh token expired. Check this machine's clock.")
        case .topicDisallowed, .badTopic, .missingTopic, .deviceTokenNotForTopic:
            self.init(
                .apns, answer: name, good: [.key, .team], refused: [.topic],
                advice: "The key may not push to this bundle id. Check --bundle-id and the topics the key is restricted to.")
        case .badEnvironmentKeyInToken:
            self.init(
                .apns, answer: name, good: [.team], refused: [.environment],
                advice: "The key belongs to the other environment. Use a key for this one, or the other --environment.")
        case .connectionFailed:
            self.init(
                .apns, answer: name,
                advice: "No connection to APNs could be made. Check the APNs URL, the way out, and OPENPUSH_APNS_CA_FILE.")
        default:
            self.init(
                .apns, answer: name, advice: "APNs answered \(name), which says nothing about the credentials. Try again.")
        }
    }

    private init(apnsAnswer answer: String, allGood advice: String) {
        self.init(.apns, answer: answer, good: Service.apns.parts, advice: advice)
    }
}

// MARK: Channels

extension DoctorFinding {
    init(channels result: ChannelResult<[String]>) {
        switch result {
        case .done(let channels):
            self.init(
                .channels, answer: "Listed", good: [.channels],
                advice: "Apple lets the app manage broadcast channels; it has \(channels.count) of \(ChannelPlan.channelLimit).")
        case .refused(.notEnabled):
            self.init(
                .channels, answer: ChannelRefusal.notEnabled.text, refused: [.channels],
                advice: "Switch on broadcasts for the app in Apple's developer portal (Push Notifications, Broadcast).")
        case .refused(.other(let reason)):
            self.init(
                .channels, answer: reason.name, refused: [.channels],
                advice: "Apple's management of channels answered \(reason.name). Check its URL and the bundle identifier.")
        case .refused(let refusal):
            self.init(
                .channels, answer: refusal.text,
                advice: "Apple's management of channels could not be asked. Check its URL and port, and the way out.")
        case .unclear:
            self.init(
                .channels, answer: "NoAnswer",
                advice: "Apple's management of channels did not answer in time. Check its URL and port, and the way out.")
        }
    }
}

// MARK: FCM

extension DoctorFinding {
    /// - Parameter reason: what kept an access token from being given; it holds no secret.
    init(refusedAccount reason: String) {
        self.init(
            .fcm, answer: "NoAccessToken", refused: [.account],
            advice:
                "Google gives no access token (\(reason)). Check the service account, this machine's clock, OPENPUSH_GOOGLE_TOKEN_URL and the way out."
        )
    }

    init(fcm outcome: PushOutcome) {
        switch outcome {
        case .accepted, .tokenDead(_, _):
            self.init(
                .fcm, answer: Self.name(of: outcome), good: Service.fcm.parts,
                advice: "FCM refused only the registration token, which no device has: the service account is good.")
        case .rejected(.fcmPermissionDenied):
            self.init(
                .fcm, answer: Self.name(of: outcome), good: [.account], refused: [.project],
                advice: "The account may not send for this project. Enable the FCM API and give it the role to send messages.")
        case .rejected(.otherClientError):
            self.init(
                .fcm, answer: Self.name(of: outcome), good: [.account], refused: [.project],
                advice: "FCM does not know the project of the service account. Check the file and OPENPUSH_FCM_URL.")
        case .deferred(.fcmUnauthenticated, _), .deferred(.credentialsRefused, _):
            self.init(
                .fcm, answer: Self.name(of: outcome), refused: [.account],
                advice: "FCM refuses the access token. Check the service account and this machine's clock.")
        case .deferred(_, _), .rejected(_), .notSent, .unknown:
            self.init(
                .fcm, answer: Self.name(of: outcome), good: [.account],
                advice: "FCM said nothing about the project. Check OPENPUSH_FCM_URL and the way out, and try again.")
        }
    }

    private static func name(of outcome: PushOutcome) -> String {
        switch outcome {
        case .accepted: "Accepted"
        case .rejected(let reason), .tokenDead(let reason, _), .deferred(let reason, _): reason.name
        case .notSent, .unknown: "NoAnswer"
        }
    }
}
