/// A device as it is stored, without its tokens, and how a registration changes it.
package struct DeviceProfile: Hashable, Sendable {
    /// The alias label that names the app's own user.
    package static let externalIDLabel: ExactText = "external_id"
    /// The alias label under which the gateway names a device's user to OneSignal's clients.
    package static let userIDLabel: ExactText = "onesignal_id"

    package var environment: PushEnvironment
    package var platform = DevicePlatform.ios
    /// Whether ActivityKit's tokens of this iOS device go through FCM.
    package var isRelayed = false
    package var aliases: [ExactText: ExactText] = [:]
    package var tags: [ExactText: ExactText] = [:]
    package var language: String?
    package var country: String?
    package var appVersion: ExactText?
    package var osVersion: ExactText?
    package var timeZone: ExactText?
    package var sessionCount: Int64 = 0
    /// Seconds since 1970.
    package var firstSession: Int64?
    /// Seconds since 1970.
    package var lastSession: Int64?
    /// Of all sessions together.
    package var sessionSeconds: Int64 = 0
    package var location: DeviceLocation?
    /// What the app said of the permission for ordinary notifications; Live Activities have one of their own.
    package var isEnabled = true

    /// The service that takes pushes for its tokens.
    package var service: PushService {
        switch platform {
        case .android: .fcm
        case .ios: isRelayed ? .fcmToAPNs : PushService(apns: environment)
        }
    }
    package var externalID: ExactText? { aliases[Self.externalIDLabel] }
    package var userID: ExactText? { aliases[Self.userIDLabel] }

    /// A device nothing is known of.
    package init(environment: PushEnvironment) { self.environment = environment }

    /// What a registration makes of it.
    ///
    /// A device whose user changes, or leaves, keeps nothing of the former user's aliases.
    package func applying(
        _ registration: DeviceRegistration, makeUserID: () -> UUID = UUID.random
    ) -> DeviceProfile {
        var device = self
        let told = registration.toldAliases
        if isLeft(by: registration, told: told) {
            device.aliases = [:]
            if registration.tagsBelongToUser { device.tags = [:] }
        }
        for (label, identifier) in told { device.aliases[label] = identifier }
        if device.userID == nil, registration.givesUserID {
            device.aliases[Self.userIDLabel] = ExactText("\(makeUserID())")
        }
        for (key, value) in registration.tags { device.tags[key] = value.map { ExactText($0) } }
        device.environment = registration.environment ?? environment
        device.platform = registration.platform ?? platform
        device.isRelayed = device.platform == .ios && (registration.isRelayed ?? isRelayed)
        device.language = registration.language ?? language
        device.country = registration.country ?? country
        device.appVersion = registration.appVersion.map { ExactText($0) } ?? appVersion
        device.osVersion = registration.osVersion.map { ExactText($0) } ?? osVersion
        device.timeZone = registration.timeZone.map { ExactText($0) } ?? timeZone
        device.sessionCount = Self.sum(registration.sessionCount ?? sessionCount, registration.addedSessionCount)
        device.sessionSeconds = Self.sum(registration.sessionSeconds ?? sessionSeconds, registration.addedSessionSeconds)
        device.firstSession = registration.firstSession ?? firstSession
        device.lastSession = registration.lastSession ?? lastSession
        device.location = registration.location ?? location
        device.isEnabled = registration.isEnabled ?? isEnabled
        return device
    }

    /// A sum that does not fit is as good as the largest number.
    private static func sum(_ number: Int64, _ more: Int64) -> Int64 {
        let (sum, isOver) = number.addingReportingOverflow(more)
        return isOver ? .max : sum
    }

    /// Why it may not be stored; nil when it may.
    package var refusal: DeviceRefusal? {
        if tags.count > AdmissionLimits.tagCount { return .tooManyTags }
        return ownLabels.count > AdmissionLimits.aliasCount ? .tooManyAliases : nil
    }

    // Neither the user nor the gateway's own name for it takes a place among the aliases.
    private var ownLabels: Set<ExactText> { Set(aliases.keys).subtracting([Self.externalIDLabel, Self.userIDLabel]) }

    /// Why the devices of a user may not become this; nil when they may.
    ///
    /// Devices may have other tags and aliases each. What they have together is bounded as it is for one, and never grows beyond; what is
    /// beyond already may shrink.
    package static func refusal(of after: [DeviceProfile], insteadOf before: [DeviceProfile]) -> DeviceRefusal? {
        let isBeyond = { (limit: Int, entries: (DeviceProfile) -> Set<ExactText>) in
            let count = union(after, entries).count
            return count > limit && count > union(before, entries).count
        }
        if isBeyond(AdmissionLimits.tagCount, { Set($0.tags.keys) }) { return .tooManyTags }
        return isBeyond(AdmissionLimits.aliasCount, \.ownLabels) ? .tooManyAliases : nil
    }

    private static func union(_ devices: [DeviceProfile], _ entries: (DeviceProfile) -> Set<ExactText>) -> Set<ExactText> {
        devices.reduce(into: []) { $0.formUnion(entries($1)) }
    }
}

/// Why what a device would become is not stored.
package enum DeviceRefusal: Hashable, Sendable {
    /// More than `AdmissionLimits.tagCount`.
    case tooManyTags
    /// More than `AdmissionLimits.aliasCount`.
    case tooManyAliases
}
