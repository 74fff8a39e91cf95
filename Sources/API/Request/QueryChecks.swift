import Gateway
import HTTP

/// Reads the parameters of a query and collects everything that is wrong with them; a parameter that was not asked for is wrong.
struct QueryChecks {
    private let items: [(name: String, value: String)]
    private var known: Set<String> = []
    private(set) var errors: [FieldError] = []

    init(_ request: HTTPRequest) throws(Refusal) {
        guard let items = request.queryItems else {
            throw .fields([
                FieldError(field: "query", problem: .wrongKind(expected: "valid percent-encoded UTF-8"))
            ])
        }
        self.items = items
    }

    /// The first value of a parameter; nil when it is absent.
    mutating func text(_ name: String) -> String? {
        known.insert(name)
        return items.first { $0.name == name }?.value
    }

    /// Takes a parameter that has no meaning here.
    mutating func passOver(_ name: String) { known.insert(name) }

    /// A whole number within a range.
    mutating func integer(_ name: String, default value: Int, in range: ClosedRange<Int>) -> Int {
        guard let text = text(name) else { return value }
        guard let number = Int(text), range.contains(number) else {
            report(name, .notOneOf("\(range.lowerBound) to \(range.upperBound)"))
            return value
        }
        return number
    }

    /// The place a page of that list ended at; nil for the first page.
    mutating func cursor(of list: Cursor.List) -> Cursor? {
        guard let text = text("cursor") else { return nil }
        guard let cursor = Cursor(text, of: list) else {
            report("cursor", .notOneOf("the next_cursor of a page of this list"))
            return nil
        }
        return cursor
    }

    mutating func report(_ name: String, _ problem: FieldProblem) {
        errors.append(FieldError(field: name, problem: problem))
    }

    /// Refuses the request when anything is wrong.
    mutating func finish() throws(Refusal) {
        // One error a name; the target's own bound keeps them few.
        var reported: Set<String> = []
        for item in items where !known.contains(item.name) && reported.insert(item.name).inserted {
            report(FieldError.shortened(item.name), .unknownKey)
        }
        guard errors.isEmpty else { throw .fields(errors) }
    }
}
