import Gateway
import HTTP
import JSON

/// Stored audiences, under `/v1/segments` and in OneSignal's shape under `/apps/{app_id}/segments`.
struct SegmentRoutes: Sendable {
    /// Entries of a page, at most; source for OneSignal's shape: its contract.
    static let limits = 1...300
    /// When the request does not say: of our own shape, and of OneSignal's.
    static let defaultLimit = 50
    static let defaultLimitOfApps = 300
    /// Most segments that may be passed over.
    static let offsets = 0...AdmissionLimits.storedSegmentCount

    let segments: any SegmentDirectory

    func respond(
        to request: HTTPRequest, route: Route, parameter: String, application: Application
    ) async throws(Refusal) -> HTTPResponse {
        switch route {
        case .createAppSegment:
            let id = try await create(request, application)
            return Self.succeeded(201, id)
        case .createSegment:
            let id = try await create(request, application)
            return .json(status: 201) { $0.member("id", "\(id)") }
        case .listAppSegments: return try await listOfApp(request, application)
        case .listSegments: return try await list(request, application)
        case .readAppSegment: return try await readOfApp(parameter, application)
        case .readSegment: return try await read(parameter, application)
        case .changeAppSegment:
            let id = try await change(request, parameter, application)
            return Self.succeeded(200, id)
        case .changeSegment:
            let id = try await change(request, parameter, application)
            return .json(status: 200) { $0.member("id", "\(id)") }
        case .removeAppSegment:
            try await remove(parameter, application)
            return .json(status: 200) { $0.member("success", true) }
        case .removeSegment:
            try await remove(parameter, application)
            return HTTPResponse(status: 204)
        default: preconditionFailure("\(route) is no route of segments")
        }
    }

    private static func succeeded(_ status: Int, _ id: UUID) -> HTTPResponse {
        .json(status: status) { writer in
            writer.member("success", true)
            writer.member("id", "\(id)")
        }
    }

    // MARK: Changing

    private func create(_ request: HTTPRequest, _ application: Application) async throws(Refusal) -> UUID {
        var checks = try request.bodyChecks()
        let id = checks.optional("id", FieldRule.uuid)
        let name = checks.required("name", FieldRule.name)
        let note = checks.optional("description", FieldRule.note)
        let definition = checks.required("filters") { value throws(FieldProblem) in Array(value.rawBytes) }
        if let filters = checks.present("filters") { _ = checks.filters(filters) }
        try checks.finish()
        guard let name, let definition else { preconditionFailure("a required field is neither there nor reported") }
        let segment = NewSegment(id: id, name: name, note: note ?? "", definition: definition)
        let creation = try await Refusal.catching { () async throws(StorageError) in
            try await segments.createSegment(segment, application: application.id)
        }
        switch creation {
        case .conflict: throw .segmentExists
        case .tooMany:
            throw .conflict("The app has \(AdmissionLimits.storedSegmentCount) segments, and no more are allowed.")
        case .created(let identifier): return identifier
        }
    }

    private func change(_ request: HTTPRequest, _ parameter: String, _ application: Application) async throws(Refusal) -> UUID {
        var checks = try request.bodyChecks()
        let name = checks.optional("name", FieldRule.name)
        let note = checks.optional("description", FieldRule.note)
        let definition = checks.optional("filters") { value throws(FieldProblem) in Array(value.rawBytes) }
        if let filters = checks.present("filters") { _ = checks.filters(filters) }
        try checks.finish()
        guard let id = UUID(parameter) else { throw .unknownSegment }
        let change = SegmentChange(name: name, note: note, definition: definition)
        let result = try await Refusal.catching { () async throws(StorageError) in
            try await segments.changeSegment(id, change, application: application.id)
        }
        switch result {
        case .changed: return id
        case .conflict: throw .segmentExists
        case .unknown: throw .unknownSegment
        }
    }

    private func remove(_ parameter: String, _ application: Application) async throws(Refusal) {
        guard let id = UUID(parameter) else { throw .unknownSegment }
        let isRemoved = try await Refusal.catching { () async throws(StorageError) in
            try await segments.removeSegment(id, application: application.id)
        }
        guard isRemoved else { throw .unknownSegment }
    }

    // MARK: Reading

    private func page(from start: SegmentPageStart, limit: Int, _ application: Application) async throws(Refusal) -> SegmentPage {
        try await Refusal.catching { () async throws(StorageError) in
            try await segments.segments(from: start, limit: limit, application: application.id)
        }
    }

    private func list(_ request: HTTPRequest, _ application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let limit = checks.integer("limit", default: Self.defaultLimit, in: Self.limits)
        let cursor = checks.cursor(of: .segments)
        try checks.finish()
        let page = try await page(from: cursor.map(SegmentPageStart.init) ?? .offset(0), limit: limit, application)
        return .json(status: 200) { writer in
            writer.key("segments")
            writer.beginArray()
            for segment in page.segments {
                writer.beginObject()
                segment.write(to: &writer)
                writer.endObject()
            }
            writer.endArray()
            writer.member("total", page.totalCount)
            writer.member("next_cursor", page.next.flatMap(\.cursor)?.text)
        }
    }

    private func listOfApp(_ request: HTTPRequest, _ application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        let limit = checks.integer("limit", default: Self.defaultLimitOfApps, in: Self.limits)
        let offset = checks.integer("offset", default: 0, in: Self.offsets)
        try checks.finish()
        let page = try await page(from: .offset(offset), limit: limit, application)
        return .json(status: 200) { writer in
            writer.member("total_count", page.totalCount)
            writer.member("offset", offset)
            writer.member("limit", limit)
            writer.key("segments")
            writer.beginArray()
            for segment in page.segments {
                writer.beginObject()
                writer.member("id", "\(segment.id)")
                writer.member("name", segment.name)
                writer.member("created_at", segment.createdAt.dateText)
                writer.member("updated_at", segment.changedAt.dateText)
                writer.member("app_id", "\(application.publicID)")
                writer.member("read_only", false)
                writer.member("is_active", true)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    /// The segment, and how many devices match it now.
    private func counted(_ parameter: String, _ application: Application) async throws(Refusal) -> (StoredSegment, Int64) {
        guard let id = UUID(parameter) else { throw .unknownSegment }
        let found = try await Refusal.catching { () async throws(StorageError) -> (StoredSegment, Int64)? in
            guard let segment = try await segments.segment(id, application: application.id) else { return nil }
            return (segment, try await segments.countDevices(in: segment, application: application.id))
        }
        guard let found else { throw .unknownSegment }
        return found
    }

    private func read(_ parameter: String, _ application: Application) async throws(Refusal) -> HTTPResponse {
        let (segment, count) = try await counted(parameter, application)
        return .json(status: 200) { writer in
            segment.write(to: &writer)
            writer.key("filters")
            writer.raw(segment.definition)
            writer.member("devices", count)
        }
    }

    private func readOfApp(_ parameter: String, _ application: Application) async throws(Refusal) -> HTTPResponse {
        let (segment, count) = try await counted(parameter, application)
        return .json(status: 200) { writer in
            writer.member("subscriber_count", count)
            writer.key("payload")
            writer.beginObject()
            writer.member("id", "\(segment.id)")
            writer.member("name", segment.name)
            writer.member("description", segment.note)
            writer.member("created_at", segment.createdAt.seconds)
            // One of the three that OneSignal's generated clients take.
            writer.member("source", "custom")
            writer.key("filters")
            writer.raw(segment.definition)
            writer.endObject()
        }
    }
}

extension StoredSegment {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("id", "\(id)")
        writer.member("name", name)
        writer.member("description", note)
        writer.member("created_at", createdAt.dateText)
        writer.member("updated_at", changedAt.dateText)
    }
}

extension SegmentPageStart {
    fileprivate init(_ cursor: Cursor) {
        self = .behind(
            createdAtMicroseconds: Int64(bitPattern: cursor.words[0]), id: UUID(high: cursor.words[1], low: cursor.words[2]))
    }

    /// Nil for a place that no page ends at.
    fileprivate var cursor: Cursor? {
        guard case .behind(let microseconds, let id) = self else { return nil }
        return Cursor(list: .segments, words: [UInt64(bitPattern: microseconds), id.high, id.low])
    }
}

extension FieldRule {
    /// What people note about something: may be empty, at most so many bytes, no NUL (which PostgreSQL cannot store).
    fileprivate static func note(_ value: JSONValue) throws(FieldProblem) -> String {
        let text = try string(value)
        let byteCount = text.utf8.count
        guard byteCount <= AdmissionLimits.noteByteCount else {
            throw .tooLong(actual: byteCount, limit: AdmissionLimits.noteByteCount, unit: .bytes)
        }
        guard !text.utf8.contains(0) else { throw .controlCharacter }
        return text
    }
}

extension Refusal {
    fileprivate static let segmentExists = Refusal.conflict("A segment of this name or id exists.")
    fileprivate static let unknownSegment = Refusal.notFound("There is no segment of this id.")
}
