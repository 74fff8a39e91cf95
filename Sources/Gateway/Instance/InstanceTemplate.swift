import JSON

/// A template that Customer.io's SDK draws by itself: what its schema demands, on both platforms.
package enum InstanceTemplate: String, CaseIterable, Sendable {
    case segments = "io.customer.livenotifications.segments"
    case countdownTimer = "io.customer.livenotifications.countdowntimer"

    /// Most segments; more are capped. Source: Customer.io's specification.
    package static let segmentCount: Int64 = 20

    /// The Swift type. Source: customerio-ios 4.7.5, Sources/LiveActivities_Templates.
    package var attributesType: String {
        switch self {
        case .segments: "CIOSegmentsAttributes"
        case .countdownTimer: "CIOCountdownTimerAttributes"
        }
    }

    /// Checks the attributes of a start.
    package func check(attributes: [UInt8]) throws(FieldErrors) {
        var checks = FieldChecks(Self.object(attributes))
        _ = checks.required("header", FieldRule.string)
        try Self.finish(checks, under: "attributes")
    }

    /// Checks a content state, and caps its numbers as the schema says. Every other byte stays as it came.
    package func fitting(contentState: [UInt8]) throws(FieldErrors) -> [UInt8] {
        let object = Self.object(contentState)
        var checks = FieldChecks(object)
        var total: Int64?
        switch self {
        case .segments:
            _ = checks.required("status", FieldRule.string)
            _ = checks.optional("substatus", FieldRule.string)
            total = checks.required("segmentsTotal") { value throws(FieldProblem) in
                let number = try Self.wholeNumber(value)
                guard number >= 1 else { throw .notOneOf("1 or more") }
                return number
            }
            _ = checks.required("segmentsComplete", Self.wholeNumber)
            _ = checks.optional("trailingText", FieldRule.string)
        case .countdownTimer:
            _ = checks.required("title", FieldRule.string)
            _ = checks.optional("statusMessage", FieldRule.string)
            _ = checks.optional("endTime", Self.wholeNumber)
        }
        try Self.finish(checks, under: "content_state")
        guard let total else { return contentState }
        return Self.capped(contentState, object: object, total: min(total, Self.segmentCount))
    }

    /// Repeated names are capped wherever they stand, for readers differ in which of them counts.
    ///
    /// Fewer than no complete segments are none, as the Android SDK draws it.
    private static func capped(_ contentState: [UInt8], object: JSONValue, total: Int64) -> [UInt8] {
        var bytes = contentState
        // From the end, so that the places of what comes before stay right.
        for (name, value) in object.members.reversed() {
            guard let number = try? wholeNumber(value) else { continue }
            let capped: Int64
            switch name {
            case "segmentsTotal": capped = min(max(number, 1), segmentCount)
            case "segmentsComplete": capped = min(max(number, 0), total)
            default: continue
            }
            if capped != number { bytes.replaceSubrange(value.rawBytes.indices, with: String(capped).utf8) }
        }
        return bytes
    }

    private static func object(_ bytes: [UInt8]) -> JSONValue {
        guard let document = try? JSONDocument(parsing: bytes), document.root.kind == .object else {
            preconditionFailure("what was validated is an object")
        }
        return document.root
    }

    private static func wholeNumber(_ value: JSONValue) throws(FieldProblem) -> Int64 {
        if let number = value.integer { return number }
        // Beyond 64 bits every number is whole, and as good as the largest.
        guard value.kind == .number, let number = value.double, abs(number) >= 0x1p63 else {
            throw .wrongKind(expected: "a whole number")
        }
        return number > 0 ? .max : .min
    }

    private static func finish(_ members: FieldChecks, under path: String) throws(FieldErrors) {
        guard !members.errors.isEmpty else { return }
        throw FieldErrors(members.errors.map { FieldError(field: "\(path).\($0.field)", problem: $0.problem) })
    }
}
