/// One thing that is wrong with a request, and where.
package struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path of the field, such as `name`, `contents.en` or `filters[2]`.
    package let field: String
    /// What is wrong with it.
    package let problem: FieldProblem

    /// Puts both together.
    package init(field: String, problem: FieldProblem) {
        self.field = field
        self.problem = problem
    }

    /// The field, then the problem, as callers see it.
    package var description: String { "\(field): \(problem)" }

    /// A name from a request, cut when it is longer than any name that is known here.
    package static func shortened(_ name: String) -> String {
        guard name.utf8.count > AdmissionLimits.identifierByteCount else { return name }
        return String(String.UnicodeScalarView(name.unicodeScalars.prefix(AdmissionLimits.identifierByteCount / 4))) + "…"
    }
}

/// Everything that is wrong with a request or a part of it; never empty.
package struct FieldErrors: Error, Hashable, Sendable {
    /// In the order of the checks.
    package let errors: [FieldError]
    /// Takes at least one error.
    package init(_ errors: [FieldError]) {
        precondition(!errors.isEmpty, "an error without a reason")
        self.errors = errors
    }
}

/// What can be wrong with a field. The description is what callers read.
package enum FieldProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case missing
    case unknownKey
    /// The field exists, but not here; the text says where.
    case notAllowed(String)
    /// The text names the expected kind, such as `a string`.
    case wrongKind(expected: String)
    case empty
    case blank
    case tooLong(actual: Int, limit: Int, unit: Unit)
    case tooMany(actual: Int, limit: Int)
    /// Together with what is stored already there would be more than the limit.
    case tooManyTogether(limit: Int)
    case controlCharacter
    case slash
    /// The text names what is allowed, such as `5 or 10`.
    case notOneOf(String)
    case milliseconds
    case past
    case future
    case notUUID
    case notULID
    case notHexadecimal
    /// None or several of the forms that exclude each other, all named.
    case notExactlyOne(of: String)
    case requires(String)
    case tooLarge(byteCount: Int, limit: Int)
    case nobodyHoldsStartToken(activityType: String)
    case unknownSegment(String)
    /// The bundle identifier is not the app's.
    case unknownApp
    /// The instance is in this last state.
    case over(InstanceState)
    case filter(FilterProblem)

    /// What a length is counted in.
    package enum Unit: String, Sendable {
        case bytes
        case characters
        case digits = "hexadecimal digits"
    }

    package var description: String {
        switch self {
        case .missing: "is required"
        case .unknownKey: "is not a known key"
        case .notAllowed(let place): "is only allowed \(place)"
        case .wrongKind(let expected): "must be \(expected)"
        case .empty: "must not be empty"
        case .blank: "must not be blank"
        case .tooLong(let actual, let limit, let unit): "has \(actual) \(unit.rawValue), at most \(limit) are allowed"
        case .tooMany(let actual, let limit): "has \(actual) entries, at most \(limit) are allowed"
        case .tooManyTogether(let limit): "with those it has, the device would have more than \(limit)"
        case .controlCharacter: "must not contain control characters"
        case .slash: "must not contain /"
        case .notOneOf(let allowed): "must be \(allowed)"
        case .milliseconds: "looks like milliseconds, give seconds since 1970"
        case .past: "lies in the past"
        case .future: "lies in the future"
        case .notUUID: "must be a UUID"
        case .notULID: "must be a ULID"
        case .notHexadecimal: "must be hexadecimal digits, an even number of them"
        case .notExactlyOne(let forms): "give exactly one of \(forms)"
        case .requires(let other): "requires \(other)"
        case .tooLarge(let byteCount, let limit): "the push would have \(byteCount) bytes, at most \(limit) are allowed"
        case .nobodyHoldsStartToken(let type): "no targeted device holds a push-to-start token for \(FieldError.shortened(type))"
        case .unknownSegment(let name): "there is no segment named \(FieldError.shortened(name))"
        // In Customer.io's words, which its tools look for.
        case .unknownApp: "app_identifier does not match any app"
        case .over(let state): "the live notification is \(state.rawValue) and takes no more operations"
        case .filter(let problem): problem.description
        }
    }
}
