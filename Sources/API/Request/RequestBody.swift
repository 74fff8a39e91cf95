import Gateway
import HTTP
import JSON

extension HTTPRequest {
    /// Most members of a body; each key that is known is looked for among all of them.
    static let memberCount = 100

    /// The checks of a body that must be a JSON object. What `content-type` says does not matter.
    func bodyChecks() throws(Refusal) -> FieldChecks {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONDocument(parsing: body).root
        } catch {
            if headers["content-encoding"] != nil { throw .invalidBody("must be JSON without a content-encoding") }
            throw .invalidBody(body.isEmpty ? "a JSON object is required" : error.description)
        }
        guard root.kind == .object else { throw .invalidBody("must be a JSON object") }
        let count = root.count
        guard count <= Self.memberCount else {
            throw .invalidBody("has \(count) members, at most \(Self.memberCount) are allowed")
        }
        return FieldChecks(root)
    }
}

extension FieldChecks {
    /// Ends the checks: unknown keys are reported, and anything reported refuses the request.
    mutating func finish() throws(Refusal) {
        reportUnknownKeys()
        try refuseIfAnythingIsWrong()
    }

    /// Refuses the request when anything was reported.
    func refuseIfAnythingIsWrong() throws(Refusal) {
        guard errors.isEmpty else { throw .fields(errors) }
    }

    /// Checks text from the path by the rules of a field.
    mutating func parameter<Value>(
        _ text: String, as field: String, _ rule: (String) throws(FieldProblem) -> Value
    ) -> Value? {
        do throws(FieldProblem) {
            return try rule(text)
        } catch {
            report(field, error)
            return nil
        }
    }
}

extension Refusal {
    /// Reads text from the path by the rules of a field.
    static func reading<Value>(
        _ text: String, as field: String, _ rule: (String) throws(FieldProblem) -> Value
    ) throws(Refusal) -> Value {
        do throws(FieldProblem) { return try rule(text) } catch {
            throw .fields([FieldError(field: field, problem: error)])
        }
    }
}
