/// Who a start would reach.
package struct AudiencePreview: Hashable, Sendable {
    /// Devices the targeting matches.
    package let matchedCount: Int64
    /// Those of them that hold a push-to-start token for the type and are pushed to by APNs, by the environment of the token.
    package let productionCount: Int64
    package let sandboxCount: Int64
    /// Those that hold one and are pushed to through FCM: Android devices, and iOS devices that FCM passes on to APNs.
    package let androidCount: Int64
    package let relayedCount: Int64
    /// Those that hold none, because APNs said `BadDeviceToken`: theirs was of the other environment, or none at all.
    package let wrongEnvironmentCount: Int64
    /// Those that hold none, because APNs said for another reason that theirs is dead.
    package let removedCount: Int64
    /// Those that hold none, of which the app said that notifications are off.
    package let disabledCount: Int64
    /// Entries of a list of aliases or subscription ids that name no device; 0 for segments and filters.
    package let unknownEntryCount: Int64

    /// Devices a start would be pushed to.
    package var reachableCount: Int64 { productionCount + sandboxCount + androidCount + relayedCount }
    /// Devices that match, hold no token for the type, and of which nothing says why.
    package var tokenlessCount: Int64 {
        matchedCount - reachableCount - wrongEnvironmentCount - removedCount - disabledCount
    }

    /// Puts together what the store counted; nobody is in two of the counts.
    package init(
        matchedCount: Int64, productionCount: Int64, sandboxCount: Int64, androidCount: Int64 = 0, relayedCount: Int64 = 0,
        wrongEnvironmentCount: Int64 = 0, removedCount: Int64 = 0, disabledCount: Int64 = 0, unknownEntryCount: Int64
    ) {
        self.matchedCount = matchedCount
        self.productionCount = productionCount
        self.sandboxCount = sandboxCount
        self.androidCount = androidCount
        self.relayedCount = relayedCount
        self.wrongEnvironmentCount = wrongEnvironmentCount
        self.removedCount = removedCount
        self.disabledCount = disabledCount
        self.unknownEntryCount = unknownEntryCount
    }
}

/// What became of a request for a preview.
package enum PreviewResult: Hashable, Sendable {
    case counted(AudiencePreview)
    /// These segments do not exist.
    case unknownSegments([String])
}

/// Counts audiences; nothing is stored and nothing is sent.
package protocol AudienceCounter: Sendable {
    /// - Parameter activityType: nil counts tokens of no type: nobody is reachable.
    func preview(_ audience: Audience, activityType: String?, application: ApplicationID)
        async throws(StorageError) -> PreviewResult
}
