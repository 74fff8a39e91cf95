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
        if isLeft(by: told, userLabel: registration.userLabel) {
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

    /// Whether the user that the device has is not the one it is told of.
    private func isLeft(by told: [ExactText: ExactText?], userLabel: ExactText?) -> Bool {
        Self.userLabels(userLabel).contains { label in
            guard let former = aliases[label], let change = told[label] else { return false }
            return change != former
        }
    }

    /// Whether the device belongs to somebody else than before, or to nobody any more.
    package func isOfAnotherUser(than before: DeviceProfile, userLabel: ExactText?) -> Bool {
        Self.userLabels(userLabel).contains { label in
            guard let former = before.aliases[label] else { return false }
            return former != aliases[label]
        }
    }

    private static func userLabels(_ more: ExactText?) -> [ExactText] {
        [externalIDLabel, userIDLabel] + (more.map { [$0] } ?? [])
    }

    /// Why it may not be stored; nil when it may.
    package var refusal: DeviceRefusal? {
        if tags.count > AdmissionLimits.tagCount { return .tooManyTags }
        // Neither the user nor the gateway's own name for it takes a place among the aliases.
        let aliasCount = aliases.count - (externalID == nil ? 0 : 1) - (userID == nil ? 0 : 1)
        return aliasCount > AdmissionLimits.aliasCount ? .tooManyAliases : nil
    }
}

/// Why what a device would become is not stored.
package enum DeviceRefusal: Hashable, Sendable {
    /// More than `AdmissionLimits.tagCount`.
    case tooManyTags
    /// More than `AdmissionLimits.aliasCount`.
    case tooManyAliases
}
