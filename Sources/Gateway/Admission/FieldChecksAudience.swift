package import JSON

extension FieldChecks {
    private static let forms = ["include_aliases", "include_subscription_ids", "included_segments", "filters"]

    /// Reads who a start goes to: exactly one of the four forms, and `excluded_segments` with `included_segments` only.
    ///
    /// Nil when there is none that is right; everything that is wrong is reported, of every form given.
    package mutating func audience() -> Audience? {
        let given = Self.forms.filter { present($0) != nil }
        if given.isEmpty {
            report("targeting", .notExactlyOne(of: Self.forms.joined(separator: ", ")))
        } else if given.count > 1 {
            for form in given { report(form, .notExactlyOne(of: Self.forms.joined(separator: ", "))) }
        }
        var audience: Audience?
        if let value = present("include_aliases"), let aliases = aliases(value) { audience = .aliases(aliases) }
        if let value = present("include_subscription_ids") {
            let identifiers = list(
                value, at: "include_subscription_ids", limit: AdmissionLimits.audienceListCount, FieldRule.uuid)
            if let identifiers { audience = .subscriptions(unique(identifiers, by: \.self)) }
        }
        if let segments = segments() { audience = segments }
        if let value = present("filters"), let filters = filters(value) { audience = .filters(filters) }
        return audience
    }

    /// Reads a filter list under the key `filters`.
    package mutating func filters(_ value: JSONValue) -> FilterExpression? {
        do throws(FieldErrors) {
            return try FilterParser.parse(value, field: "filters")
        } catch {
            report(error)
            return nil
        }
    }

    private mutating func segments() -> Audience? {
        let included = segmentNames("included_segments")
        // A list without entries excludes nobody, as no list does.
        let excludesNobody = present("excluded_segments").map { $0.kind == .array && $0.isEmpty } ?? true
        let excluded = excludesNobody ? nil : segmentNames("excluded_segments")
        if !excludesNobody, present("included_segments") == nil {
            report("excluded_segments", .requires("included_segments"))
        }
        return included.map { .segments(included: $0, excluded: excluded ?? []) }
    }

    private mutating func segmentNames(_ key: String) -> [String]? {
        guard let value = present(key) else { return nil }
        return list(value, at: key, limit: AdmissionLimits.segmentCount, FieldRule.name).map { unique($0) { Array($0.utf8) } }
    }

    private mutating func aliases(_ value: JSONValue) -> [AliasReference]? {
        guard value.kind == .object else {
            report("include_aliases", .wrongKind(expected: "an object of lists by alias label"))
            return nil
        }
        let members = value.lastMembers.filter { !$0.value.isNull }
        guard !members.isEmpty else {
            report("include_aliases", .empty)
            return nil
        }
        let total = members.reduce(0) { $0 + $1.value.elements.count }
        guard max(total, members.count) <= AdmissionLimits.audienceListCount else {
            report("include_aliases", .tooMany(actual: max(total, members.count), limit: AdmissionLimits.audienceListCount))
            return nil
        }
        var aliases: [AliasReference] = []
        let errorCountBefore = errors.count
        for (label, value) in members where errors.count - errorCountBefore < Self.errorCountPerList {
            let path = "include_aliases.\(FieldError.shortened(label))"
            guard checked(value, at: path, { (_) throws(FieldProblem) in try FieldRule.identifier(label) }) != nil else {
                continue
            }
            let identifiers = list(value, at: path, limit: AdmissionLimits.audienceListCount) {
                (element) throws(FieldProblem) in try FieldRule.identifier(element)
            }
            aliases.append(contentsOf: (identifiers ?? []).map { AliasReference(label: label, identifier: $0) })
        }
        return unique(aliases) { [Array($0.label.utf8), Array($0.identifier.utf8)] }
    }

    /// The values without repetitions, in their order.
    ///
    /// Texts are told apart by their bytes, as the database does: Swift takes different spellings of one character for equal.
    private func unique<Value, Key: Hashable>(_ values: [Value], by key: (Value) -> Key) -> [Value] {
        var seen: Set<Key> = []
        return values.filter { seen.insert(key($0)).inserted }
    }
}
