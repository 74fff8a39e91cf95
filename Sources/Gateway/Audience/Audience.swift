/// Who a start goes to: exactly one form of targeting.
package enum Audience: Sendable {
    /// Devices of these aliases; several devices may share one.
    case aliases([AliasReference])
    /// These devices, by `subscription_id`; unknown ones are passed over.
    case subscriptions([UUID])
    /// Everybody but the devices in these segments, whatever segments are called.
    case everybody(excluded: [String])
    /// Devices in any of the included segments and in none of the excluded ones. `All` is everybody, unless a segment has that name.
    case segments(included: [String], excluded: [String])
    /// Devices that match.
    case filters(FilterExpression)
}

/// One alias: a label such as `external_id`, and the identifier under it.
package struct AliasReference: Hashable, Sendable {
    /// The name of the alias space.
    package let label: String
    /// The identifier in it.
    package let identifier: String
    /// Puts both together.
    package init(label: String, identifier: String) {
        self.label = label
        self.identifier = identifier
    }
}

/// Branches joined by OR; the conditions of a branch are joined by AND. Never empty, no branch is empty.
package struct FilterExpression: Hashable, Sendable {
    /// The branches.
    package let branches: [[FilterCondition]]
    /// Takes branches that are not empty.
    package init(branches: [[FilterCondition]]) {
        precondition(!branches.isEmpty && branches.allSatisfy { !$0.isEmpty }, "a filter expression without conditions")
        self.branches = branches
    }
}

/// How a value is compared.
package enum Comparison: String, Hashable, Sendable {
    case greater = ">"
    case less = "<"
    case equal = "="
    case notEqual = "!="

    /// Whether it asks for an order, which not all values have.
    package var isOrder: Bool { self == .greater || self == .less }
}

/// What a tag must be like.
package enum TagRelation: Hashable, Sendable {
    /// `=` and `!=` compare text; `>` and `<` compare numbers, and match nothing when either side is none.
    /// A device without the tag matches `!=` only.
    case compares(Comparison, String)
    case exists
    case notExists
    /// The tag holds seconds since 1970, and more than this many seconds have passed since.
    case timeElapsedGreater(seconds: Double)
    /// The tag holds seconds since 1970, and less than this many seconds have passed since.
    case timeElapsedLess(seconds: Double)
    /// The tag is one of these.
    case isOneOf([String])
    /// The tag is none of these, or absent.
    case isNoneOf([String])
}

/// One condition on a device.
package enum FilterCondition: Hashable, Sendable {
    case tag(key: String, TagRelation)
    /// `=` or `!=`, ISO 3166 alpha-2; a device without a country matches `!=`.
    case country(Comparison, String)
    case countryExists(Bool)
    /// `=` or `!=`, compared in lower case; a device without a language matches `!=`.
    case language(Comparison, String)
    /// Compared as dotted numbers when both sides are such; else only `=` and `!=` match, as text.
    case appVersion(Comparison, String)
    case sessionCount(Comparison, Int64)
    /// `>` or `<`: seconds of all sessions together; 0 when the device never said it.
    case sessionTime(Comparison, seconds: Double)
    /// `>`: the last session is more than so many hours ago; `<`: less. A device without sessions matches neither.
    case lastSession(Comparison, hoursAgo: Double)
    case firstSession(Comparison, hoursAgo: Double)
    /// At most so far away, along the surface. A device without a location matches none.
    case within(metres: Double, of: DeviceLocation)
}
