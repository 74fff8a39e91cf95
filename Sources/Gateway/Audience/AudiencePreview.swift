/// Who a start would reach.
package struct AudiencePreview: Hashable, Sendable {
    /// Devices the targeting matches.
    package let matchedCount: Int64
    /// Those of them that hold a push-to-start token for the type, by the environment of the token.
    package let productionCount: Int64
    package let sandboxCount: Int64
    /// Entries of a list of aliases or subscription ids that name no device; 0 for segments and filters.
    package let unknownEntryCount: Int64

    /// Devices a start would be pushed to.
    package var reachableCount: Int64 { productionCount + sandboxCount }
    /// Devices that match and hold no token for the type.
    package var tokenlessCount: Int64 { matchedCount - reachableCount }

    /// Puts together what the store counted.
    package init(matchedCount: Int64, productionCount: Int64, sandboxCount: Int64, unknownEntryCount: Int64) {
        self.matchedCount = matchedCount
        self.productionCount = productionCount
        self.sandboxCount = sandboxCount
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
