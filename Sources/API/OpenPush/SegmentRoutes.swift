import Gateway
import HTTP
import JSON

/// Stored audiences.
struct SegmentRoutes: Sendable {
    let segments: any SegmentDirectory

    func create(_ request: HTTPRequest, application: Application) async throws(Refusal) -> HTTPResponse {
        var checks = try request.bodyChecks()
        let id = checks.optional("id", FieldRule.uuid)
        let name = checks.required("name", FieldRule.name)
        let definition = checks.required("filters") { value throws(FieldProblem) in Array(value.rawBytes) }
        if let filters = checks.present("filters") { _ = checks.filters(filters) }
        try checks.finish()
        guard let name, let definition else { preconditionFailure("a required field is neither there nor reported") }
        let creation = try await Refusal.catching { () async throws(StorageError) in
            try await segments.createSegment(id: id, name: name, definition: definition, application: application.id)
        }
        switch creation {
        case .conflict: throw .conflict("A segment of this name or id exists.")
        case .created(let identifier):
            return .json(status: 201) { writer in
                writer.member("success", true)
                writer.member("id", "\(identifier)")
            }
        }
    }
}
