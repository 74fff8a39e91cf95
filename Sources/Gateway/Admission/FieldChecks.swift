package import JSON

/// Reads the members of one JSON object and collects everything that is wrong with them.
///
/// A dialect asks for each key it knows and then calls `reportUnknownKeys()`. When `errors` is empty afterwards, every
/// required value was found. A key that is `null` counts as absent.
package struct FieldChecks {
    /// Most errors that one list or the unknown keys contribute, so that an answer stays small.
    package static let errorCountPerList = AdmissionLimits.filterCount

    private let object: JSONValue
    // Few, and read once: a set would cost more for each request.
    private var knownKeys: [String] = []
    /// What is wrong so far, in the order it was found.
    package private(set) var errors: [FieldError] = []

    /// Starts on an object; anything else has no members.
    package init(_ object: JSONValue) { self.object = object }

    /// The value of a key, which is known from now on; nil when it is absent or null.
    package mutating func present(_ key: String) -> JSONValue? {
        knownKeys.append(key)
        guard let value = object[key], !value.isNull else { return nil }
        return value
    }

    /// Whether a key, which is known from now on, is there and null.
    package mutating func isNull(_ key: String) -> Bool {
        knownKeys.append(key)
        return object[key]?.isNull ?? false
    }

    /// Reads a value that must be there; nil when it is not, or wrong, and then it is reported.
    package mutating func required<Value>(_ key: String, _ read: (JSONValue) throws(FieldProblem) -> Value) -> Value? {
        guard let value = present(key) else {
            report(key, .missing)
            return nil
        }
        return checked(value, at: key, read)
    }

    /// Reads a value that may be absent; nil when it is, or when it is wrong and reported.
    package mutating func optional<Value>(_ key: String, _ read: (JSONValue) throws(FieldProblem) -> Value) -> Value? {
        guard let value = present(key) else { return nil }
        return checked(value, at: key, read)
    }

    /// Reads a value that is not a direct member, such as an element; a problem is reported under `path`.
    package mutating func checked<Value>(
        _ value: JSONValue, at path: @autoclosure () -> String, _ read: (JSONValue) throws(FieldProblem) -> Value
    ) -> Value? {
        do throws(FieldProblem) {
            return try read(value)
        } catch {
            report(path(), error)
            return nil
        }
    }

    /// Reads a list that must hold at least one element and at most `limit`; problems are named by index.
    ///
    /// Nil when the value is no such list; elements that are wrong are left out.
    package mutating func list<Element>(
        _ value: JSONValue, at path: String, limit: Int, _ read: (JSONValue) throws(FieldProblem) -> Element
    ) -> [Element]? {
        guard value.kind == .array else {
            report(path, .wrongKind(expected: "a list"))
            return nil
        }
        let elements = value.elements
        guard !elements.isEmpty else {
            report(path, .empty)
            return nil
        }
        guard elements.count <= limit else {
            report(path, .tooMany(actual: elements.count, limit: limit))
            return nil
        }
        var result: [Element] = []
        result.reserveCapacity(elements.count)
        let errorCountBefore = errors.count
        for (index, element) in elements.enumerated() where errors.count - errorCountBefore < Self.errorCountPerList {
            if let read = checked(element, at: "\(path)[\(index)]", read) { result.append(read) }
        }
        return result
    }

    /// Adds an error.
    package mutating func report(_ path: String, _ problem: FieldProblem) {
        errors.append(FieldError(field: path, problem: problem))
    }

    /// Adds what is wrong with the members of a value, which is at that path.
    package mutating func report(_ members: FieldChecks, under path: String) {
        errors.append(contentsOf: members.errors.map { FieldError(field: "\(path).\($0.field)", problem: $0.problem) })
    }

    /// Adds errors that another parser found.
    package mutating func report(_ found: FieldErrors) { errors.append(contentsOf: found.errors) }

    /// Reports every member that was not asked for; call it last.
    package mutating func reportUnknownKeys() {
        var reported: Set<String> = []
        for (key, _) in object.members where reported.count < Self.errorCountPerList {
            guard !knownKeys.contains(key), reported.insert(key).inserted else { continue }
            report(FieldError.shortened(key), .unknownKey)
        }
    }
}
