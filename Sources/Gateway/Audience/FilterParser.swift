package import JSON

/// Reads the filter language: a flat list of conditions, joined by AND unless an operator stands between them.
///
/// `{"operator":"OR"}` begins a new branch, so AND binds tighter; `{"operator":"AND"}` may stand where AND is implied.
package enum FilterParser {
    /// Reads a list of 1 to 200 entries.
    ///
    /// - Parameters:
    ///   - field: the name the errors begin with; each names the index of its entry.
    ///   - isStored: whether the list was accepted before. Earlier versions took operands that match nobody, and a stored list with
    ///     one of them goes on to match nobody.
    /// - Throws: one error for every entry that is malformed.
    package static func parse(
        _ list: JSONValue, field: String, isStored: Bool = false
    ) throws(FieldErrors) -> FilterExpression {
        guard list.kind == .array else {
            throw FieldErrors([FieldError(field: field, problem: .wrongKind(expected: "a list of filters"))])
        }
        let entries = list.elements
        guard !entries.isEmpty else { throw FieldErrors([FieldError(field: field, problem: .empty)]) }
        guard entries.count <= AdmissionLimits.filterCount else {
            let problem = FieldProblem.tooMany(actual: entries.count, limit: AdmissionLimits.filterCount)
            throw FieldErrors([FieldError(field: field, problem: problem)])
        }
        var errors: [FieldError] = []
        var branches: [[FilterCondition]] = [[]]
        var previousIsOperator = false
        for (index, entry) in entries.enumerated() {
            do throws(FilterProblem) {
                let isOperator = entry["operator"].map { !$0.isNull } ?? false
                defer { previousIsOperator = isOperator }
                if isOperator {
                    let separator = try separator(entry)
                    guard index > 0 else { throw .leadingOperator }
                    guard !previousIsOperator else { throw .doubledOperator }
                    guard index < entries.count - 1 else { throw .trailingOperator }
                    if separator == .or { branches.append([]) }
                } else {
                    branches[branches.count - 1].append(try condition(FilterOperands(entry, isStored: isStored)))
                }
            } catch {
                errors.append(FieldError(field: "\(field)[\(index)]", problem: .filter(error)))
            }
        }
        guard errors.isEmpty else { throw FieldErrors(errors) }
        return FilterExpression(branches: branches)
    }

    private enum Separator: String {
        case and = "AND"
        case or = "OR"
    }

    private static func separator(_ entry: JSONValue) throws(FilterProblem) -> Separator {
        guard let separator = entry["operator"]?.string.flatMap(Separator.init) else { throw .unknownOperator }
        if let other = entry.lastMembers.first(where: { $0.key != "operator" && !$0.value.isNull }) {
            throw .unexpectedKey(other.key)
        }
        return separator
    }

    private static func condition(_ operands: FilterOperands) throws(FilterProblem) -> FilterCondition {
        guard operands.isObject else { throw .notAnObject }
        switch try operands.text("field") {
        case "tag": return try tag(operands)
        case "country": return try country(operands)
        case "language":
            let (comparison, text) = try equality(operands)
            guard let language = try? FieldRule.language(text) else { throw .badValue("value", expected: "a language tag") }
            return .language(comparison, language.lowercased())
        case "app_version":
            let comparison = try operands.comparison(.any)
            let version = try operands.only("value").bounded("value", byteCount: FieldRule.shortTextByteCount)
            // Only dotted numbers have an order.
            if comparison.isOrder, AppVersion.parts(version) == nil, !operands.isStored {
                throw .badValue("value", expected: "dotted numbers, such as 1.20.3")
            }
            return .appVersion(comparison, version)
        case "session_count":
            let comparison = try operands.comparison(.any)
            return .sessionCount(comparison, try operands.only("value").count("value"))
        case "last_session":
            let comparison = try operands.comparison(.order)
            return .lastSession(comparison, hoursAgo: try operands.only("hours_ago").amount("hours_ago"))
        case "first_session":
            let comparison = try operands.comparison(.order)
            return .firstSession(comparison, hoursAgo: try operands.only("hours_ago").amount("hours_ago"))
        case "session_time":
            let comparison = try operands.comparison(.order)
            return .sessionTime(comparison, seconds: try operands.only("value").amount("value"))
        case "location":
            let (center, radius) = try operands.only("lat", "long", "radius").circle()
            return .within(metres: radius, of: center)
        case let field: throw .unknownField(field)
        }
    }

    private static func country(_ operands: FilterOperands) throws(FilterProblem) -> FilterCondition {
        switch try operands.text("relation") {
        case "exists", "not_exists":
            _ = try operands.only()
            return .countryExists(try operands.text("relation") == "exists")
        default:
            let (comparison, text) = try equality(operands)
            guard let country = try? FieldRule.country(text) else {
                throw .badValue("value", expected: "a country code of two letters")
            }
            return .country(comparison, country)
        }
    }

    private static func equality(_ operands: FilterOperands) throws(FilterProblem) -> (Comparison, String) {
        let comparison = try operands.comparison(.equality)
        return (comparison, try operands.only("value").text("value"))
    }

    private static func tag(_ operands: FilterOperands) throws(FilterProblem) -> FilterCondition {
        let relation = try operands.text("relation")
        let key = try operands.bounded("key", byteCount: AdmissionLimits.identifierByteCount)
        switch relation {
        case "exists":
            _ = try operands.only("key")
            return .tag(key: key, .exists)
        case "not_exists":
            _ = try operands.only("key")
            return .tag(key: key, .notExists)
        case "time_elapsed_gt":
            return .tag(key: key, .timeElapsedGreater(seconds: try operands.only("key", "value").amount("value")))
        case "time_elapsed_lt":
            return .tag(key: key, .timeElapsedLess(seconds: try operands.only("key", "value").amount("value")))
        case "in_array": return .tag(key: key, .isOneOf(try operands.only("key", "value").tagValues("value")))
        case "not_in_array": return .tag(key: key, .isNoneOf(try operands.only("key", "value").tagValues("value")))
        default:
            let comparison = try operands.comparison(.any)
            let value = try operands.only("key", "value").tagValue("value")
            // Order is an order of numbers, so a text would match nobody, silently.
            if comparison.isOrder, !TagNumber.matches(value), !operands.isStored {
                throw .badValue("value", expected: "a number, with two digits in its exponent at most")
            }
            return .tag(key: key, .compares(comparison, value))
        }
    }
}
