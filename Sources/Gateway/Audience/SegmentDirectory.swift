/// A stored audience.
package struct StoredSegment: Sendable {
    package let id: UUID
    package let name: String
    /// For people; may be empty.
    package let note: String
    /// The JSON array of filters as it came in.
    package let definition: [UInt8]
    package let createdAt: UnixMilliseconds
    package let changedAt: UnixMilliseconds

    /// Puts together what the store holds.
    package init(
        id: UUID, name: String, note: String, definition: [UInt8], createdAt: UnixMilliseconds, changedAt: UnixMilliseconds
    ) {
        self.id = id
        self.name = name
        self.note = note
        self.definition = definition
        self.createdAt = createdAt
        self.changedAt = changedAt
    }
}

/// A segment that passed validation.
package struct NewSegment: Sendable {
    /// The caller's own identifier; nil for one that is made.
    package let id: UUID?
    package let name: String
    package let note: String
    /// Parses to filters.
    package let definition: [UInt8]
    /// Puts a validated request together.
    package init(id: UUID?, name: String, note: String, definition: [UInt8]) {
        self.id = id
        self.name = name
        self.note = note
        self.definition = definition
    }
}

/// What to change of a segment; nil leaves what is stored.
package struct SegmentChange: Sendable {
    package let name: String?
    package let note: String?
    /// Parses to filters.
    package let definition: [UInt8]?
    /// Puts a validated request together.
    package init(name: String?, note: String?, definition: [UInt8]?) {
        self.name = name
        self.note = note
        self.definition = definition
    }
}

/// What became of a new segment.
package enum SegmentCreation: Sendable {
    case created(UUID)
    /// A segment of that name (or identifier) exists.
    case conflict
    /// The app has `AdmissionLimits.storedSegmentCount` segments.
    case tooMany
}

/// What became of a change.
package enum SegmentChangeResult: Sendable {
    case changed
    /// Another segment of the app has that name.
    case conflict
    /// The app has no segment of that identifier.
    case unknown
}

/// Where a page of segments begins.
package enum SegmentPageStart: Hashable, Sendable {
    /// So many segments from the first.
    case offset(Int)
    /// Behind the segment that was created then, in microseconds since 1970, and has that identifier; it need not exist any more.
    case behind(createdAtMicroseconds: Int64, id: UUID)
}

/// Some segments of an app, the oldest first.
package struct SegmentPage: Sendable {
    package let segments: [StoredSegment]
    /// All segments of the app.
    package let totalCount: Int64
    /// Where the next page begins; nil when this is the last.
    package let next: SegmentPageStart?
    /// Puts together what the store holds.
    package init(segments: [StoredSegment], totalCount: Int64, next: SegmentPageStart?) {
        self.segments = segments
        self.totalCount = totalCount
        self.next = next
    }
}

/// Stored audiences. A fan-out keeps the audience it was accepted with, whatever becomes of its segments.
package protocol SegmentDirectory: Sendable {
    /// Stores a definition under a name that is unique in the app.
    func createSegment(_ segment: NewSegment, application: ApplicationID) async throws(StorageError) -> SegmentCreation
    /// At most `limit` of them.
    func segments(from start: SegmentPageStart, limit: Int, application: ApplicationID) async throws(StorageError) -> SegmentPage
    /// Nil when the app has none of that identifier.
    func segment(_ id: UUID, application: ApplicationID) async throws(StorageError) -> StoredSegment?
    /// How many devices match a definition now.
    func countDevices(in segment: StoredSegment, application: ApplicationID) async throws(StorageError) -> Int64
    /// Changes what is named; one that changes nothing is stored too.
    func changeSegment(_ id: UUID, _ change: SegmentChange, application: ApplicationID)
        async throws(StorageError) -> SegmentChangeResult
    /// False when the app has none of that identifier.
    func removeSegment(_ id: UUID, application: ApplicationID) async throws(StorageError) -> Bool
}
