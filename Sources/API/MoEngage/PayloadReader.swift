import Gateway
import HTTP
import JSON

/// Reads the members of a JSON object as strictly as a pydantic model that forbids extra members, and collects everything that is wrong.
struct PayloadReader {
    /// Most details of an answer, so that it stays small.
    static let detailCount = 100

    private let object: JSONValue
    /// The names on the way to the object, with dots; empty for the body.
    private let path: String
    private var known: Set<String> = []
    private(set) var details: [PayloadDetail] = []

    private init(_ object: JSONValue, path: String) {
        self.object = object
        self.path = path
    }

    /// Begins with a body.
    init(_ request: HTTPRequest) throws(Refusal) {
        let root: JSONValue
        do throws(JSONError) { root = try JSONDocument(parsing: request.body).root } catch {
            let reason = request.body.isEmpty ? "a JSON object is required" : error.description
            throw .broadcast(
                .payload([PayloadDetail(code: "json_invalid", target: "body", message: "Invalid JSON: \(reason)")]))
        }
        guard root.kind == .object else { throw .broadcast(.payload([.init(.dictionary, target: "body")])) }
        self.init(root, path: "")
    }

    // MARK: Members

    private mutating func member(_ name: String, isRequired: Bool) -> JSONValue? {
        known.insert(name)
        guard let value = object[name] else {
            if isRequired { report(name, .missing) }
            return nil
        }
        return value.isNull && !isRequired ? nil : value
    }

    /// Whether a member, which is known from now on, is there.
    mutating func has(_ name: String) -> Bool { member(name, isRequired: false) != nil }

    /// The bare value of a member, which is known from now on.
    mutating func value(_ name: String, isRequired: Bool = false) -> JSONValue? { member(name, isRequired: isRequired) }

    /// A text.
    mutating func text(_ name: String, isRequired: Bool = true) -> String? {
        guard let value = member(name, isRequired: isRequired) else { return nil }
        guard let text = value.string else {
            report(name, .string)
            return nil
        }
        return text
    }

    /// An identifier: 1 to 128 bytes without control characters.
    mutating func identifier(_ name: String, isRequired: Bool = true, mayHaveSlash: Bool = true) -> String? {
        guard let text = text(name, isRequired: isRequired) else { return nil }
        if text.isEmpty { report(name, .tooShort) }
        if text.utf8.count > AdmissionLimits.identifierByteCount { report(name, .tooLong(AdmissionLimits.identifierByteCount)) }
        if FieldRule.hasControlCharacter(text)
            || !mayHaveSlash && text.utf8.contains(UInt8(ascii: "/"))
        {
            report(name, .pattern(mayHaveSlash ? "^\\P{Cc}+$" : "^[^/\\p{Cc}]+$"))
        }
        return text
    }

    /// Seconds since 1970.
    mutating func seconds(_ name: String) -> Int64? {
        guard let value = member(name, isRequired: false) else { return nil }
        guard value.kind == .number else {
            report(name, .integer)
            return nil
        }
        guard let seconds = value.integer else {
            report(name, value.double.map { $0.rounded(.towardZero) == $0 } ?? true ? .integerSize : .fraction)
            return nil
        }
        if seconds < 0 { report(name, .tooSmall(0)) }
        // Milliseconds.
        if seconds >= AdmissionLimits.firstMillisecondDate { report(name, .tooGreat(AdmissionLimits.firstMillisecondDate)) }
        return seconds
    }

    /// The bytes of an object that is not looked into.
    mutating func object(_ name: String) -> [UInt8]? {
        guard let value = member(name, isRequired: true) else { return nil }
        guard value.kind == .object else {
            report(name, .dictionary)
            return nil
        }
        return Array(value.rawBytes)
    }

    /// Reads an object's members.
    mutating func nested<Value>(
        _ name: String, isRequired: Bool = true, _ read: (inout PayloadReader) -> Value?
    ) -> Value? {
        guard let value = member(name, isRequired: isRequired) else { return nil }
        guard value.kind == .object else {
            report(name, .dictionary)
            return nil
        }
        var reader = PayloadReader(value, path: target(name))
        let result = read(&reader)
        reader.reportExtraMembers()
        details.append(contentsOf: reader.details)
        return result
    }

    /// Reads the members of objects in a list; each is named by its index.
    mutating func list<Value>(
        _ name: String, limit: Int, isRequired: Bool = true, _ read: (inout PayloadReader) -> Value?
    ) -> [Value]? {
        guard let value = member(name, isRequired: isRequired) else { return nil }
        guard value.kind == .array else {
            report(name, .list)
            return nil
        }
        guard value.count <= limit else {
            report(name, .tooManyElements(limit, actual: value.count))
            return nil
        }
        return value.elements.enumerated().compactMap { index, element in
            guard element.kind == .object else {
                report("\(name).\(index)", .dictionary)
                return nil
            }
            var reader = PayloadReader(element, path: target("\(name).\(index)"))
            let result = read(&reader)
            reader.reportExtraMembers()
            details.append(contentsOf: reader.details)
            return result
        }
    }

    /// Members that are of no use here, and may be anything.
    mutating func ignore(_ names: String...) { known.formUnion(names) }

    // MARK: Mistakes

    /// Adds a mistake at a member.
    mutating func report(_ name: String, _ mistake: PayloadMistake) {
        guard details.count < Self.detailCount else { return }
        details.append(PayloadDetail(mistake, target: target(name)))
    }

    private func target(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    private mutating func reportExtraMembers() {
        var reported: Set<String> = []
        for (name, _) in object.members where !known.contains(name) && reported.insert(name).inserted {
            report(FieldError.shortened(name), .extra)
        }
    }

    /// Ends the reading: anything that is wrong refuses the request.
    mutating func finish() throws(Refusal) {
        reportExtraMembers()
        guard details.isEmpty else { throw .broadcast(.payload(Array(details.prefix(Self.detailCount)))) }
    }
}

/// A kind of mistake, with pydantic's code and message.
enum PayloadMistake: Hashable {
    case missing, extra, string, integer, fraction, integerSize, dictionary, list, boolean
    case tooShort
    case tooLong(Int)
    case tooManyElements(Int, actual: Int)
    case pattern(String)
    case tooSmall(Int64)
    case tooGreat(Int64)
    /// Any of these texts.
    case oneOf([String])
    /// A rule that the text says.
    case value(String)
}

extension PayloadDetail {
    init(_ mistake: PayloadMistake, target: String) {
        let (code, message): (String, String) =
            switch mistake {
            case .missing: ("missing", "Field required")
            case .extra: ("extra_forbidden", "Extra inputs are not permitted")
            case .string: ("string_type", "Input should be a valid string")
            case .integer: ("int_type", "Input should be a valid integer")
            case .fraction: ("int_from_float", "Input should be a valid integer, got a number with a fractional part")
            case .integerSize:
                ("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size")
            case .dictionary: ("dict_type", "Input should be a valid dictionary")
            case .list: ("list_type", "Input should be a valid list")
            case .boolean: ("bool_type", "Input should be a valid boolean")
            case .tooShort: ("string_too_short", "String should have at least 1 character")
            case .tooLong(let limit): ("string_too_long", "String should have at most \(limit) characters")
            case .tooManyElements(let limit, let actual):
                ("too_long", "List should have at most \(limit) items after validation, not \(actual)")
            case .pattern(let pattern): ("string_pattern_mismatch", "String should match pattern '\(pattern)'")
            case .tooSmall(let least): ("greater_than_equal", "Input should be greater than or equal to \(least)")
            case .tooGreat(let limit): ("less_than", "Input should be less than \(limit)")
            case .oneOf(let texts):
                (
                    "literal_error",
                    "Input should be \(texts.map { "'\($0)'" }.joined(separator: " or "))"
                )
            case .value(let text): ("value_error", "Value error, \(text)")
            }
        self.init(code: code, target: target, message: message)
    }
}
