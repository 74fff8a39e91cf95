import Gateway
import PostgreSQL

/// A frozen audience as the WHERE clause of a page. What it is compared with is only ever a parameter.
///
/// Every condition is true or false, never null, so that NOT means the opposite. Each look-up of a tag is bounded by the
/// page's window of device ids itself: an inequality on one side of a join does not bound the other.
struct AudienceSQL {
    /// The clause's fixed parameters, in the order of `parameters`; its texts come in one array behind them.
    enum Position {
        static let application = "$1"
        static let type = "$2"
        /// The window: low < device_id <= high.
        static let low = "$3"
        static let high = "$4"
        /// The moment ages are counted to.
        static let moment = "$5"
        static let texts = "$6"
        /// For the caller's own use.
        static let next = "$7"
    }

    /// The condition on a start token `token` and its device `device`.
    private(set) var condition = ""
    /// Whether `condition` speaks of the device itself.
    private(set) var needsDevice = false
    private var texts: [String] = []

    init(_ audience: FrozenAudience) {
        let included = audience.included.contains([]) ? "true" : disjunction(audience.included)
        condition = included
        guard !audience.excluded.isEmpty else { return }
        let excluded = audience.excluded.contains([]) ? "true" : disjunction(audience.excluded)
        condition = "\(included) and not (\(excluded))"
    }

    /// The first six parameters of every statement that holds `condition`.
    func parameters(
        application: ApplicationID, type: Int32, low: Int64, high: Int64, momentMicroseconds: Int64
    ) -> [Parameter] {
        [
            .application(application), .int32(type), .int64(low), .int64(high),
            .timestamp(microsecondsSince1970: momentMicroseconds), .textArray(texts),
        ]
    }

    /// The tables and the window a page or a check reads.
    func source(withDevice: Bool) -> String {
        let device = """
             join device on device.app_id = \(Position.application) and device.device_id = token.device_id
                and device.device_id > \(Position.low) and device.device_id <= \(Position.high)
            """
        return """
            from start_token as token\(withDevice || needsDevice ? device : "")
            where token.app_id = \(Position.application) and token.type_id = \(Position.type)
                and token.device_id > \(Position.low) and token.device_id <= \(Position.high)
                and \(condition)
            """
    }

    /// The same of every device of the app, not only those that hold a start token of the type; that token, or null, is `held`.
    var deviceSource: String {
        """
        from device
            cross join lateral (select device.device_id) as token
            left join start_token as held on held.app_id = \(Position.application) and held.type_id = \(Position.type)
                and held.device_id = device.device_id
            left join removed_start_token as removed on removed.app_id = \(Position.application)
                and removed.type_id = \(Position.type) and removed.device_id = device.device_id
        where device.app_id = \(Position.application)
            and device.device_id > \(Position.low) and device.device_id <= \(Position.high)
            and \(condition)
        """
    }

    private mutating func disjunction(_ branches: [[FilterCondition]]) -> String {
        var alternatives: [String] = []
        for branch in branches {
            var conditions: [String] = []
            for condition in branch { conditions.append(sql(condition)) }
            alternatives.append("(\(conditions.joined(separator: " and ")))")
        }
        return "(\(alternatives.joined(separator: " or ")))"
    }

    /// All texts travel in one array: PostgreSQL takes 65,535 parameters, and 400 segments may hold more.
    private mutating func text(_ value: String) -> String {
        texts.append(value)
        return "(\(Position.texts)::text[])[\(texts.count)]"
    }

    private mutating func sql(_ condition: FilterCondition) -> String {
        if case .tag(let key, let relation) = condition { return tag(key, relation) }
        needsDevice = true
        switch condition {
        case .tag: return "false"
        case .country(let comparison, let value): return equality("device.country", comparison, value)
        case .countryExists(let exists): return "device.country is \(exists ? "not null" : "null")"
        case .language(let comparison, let value):
            return equality("lower(device.language)", comparison, value, function: "lower")
        case .appVersion(let comparison, let value): return appVersion(comparison, value)
        case .sessionCount(let comparison, let value):
            return "device.session_count \(comparison.sqlOperator) \(text("\(value)"))::bigint"
        case .sessionTime(let comparison, let seconds):
            guard comparison.isOrder else { return "false" }
            return "device.session_seconds \(comparison.sqlOperator) \(text("\(seconds)"))::numeric"
        case .within(let metres, let center): return within(metres, of: center)
        case .lastSession(let comparison, let hours): return age("device.last_session", comparison, hours)
        case .firstSession(let comparison, let hours): return age("device.first_session", comparison, hours)
        }
    }

    private mutating func equality(
        _ column: String, _ comparison: Comparison, _ value: String, function: String = ""
    ) -> String {
        switch comparison {
        case .equal: "coalesce(\(column) = \(function)(\(text(value))), false)"
        case .notEqual: "\(column) is distinct from \(function)(\(text(value)))"
        case .greater, .less: "false"
        }
    }

    private mutating func appVersion(_ comparison: Comparison, _ value: String) -> String {
        guard let parts = AppVersion.parts(value) else { return equality("device.app_version", comparison, value) }
        // A version that is no dotted number differs from every one that is.
        let literal = text("{\(parts.map { "\($0)" }.joined(separator: ","))}")
        return """
            coalesce(device.app_version_parts \(comparison.sqlOperator) \(literal)::bigint[], \(comparison == .notEqual))
            """
    }

    /// The haversine formula, with 2 sin² x/2 = 1 - cos x: right across the date line and the poles, and to some centimetres.
    ///
    /// The cosines of degrees (`cosd`) raise no error for numbers that are very small, as `radians` and squares would.
    private mutating func within(_ metres: Double, of center: DeviceLocation) -> String {
        let angle = metres / DeviceLocation.earthRadiusMetres * 180 / .pi
        // Half the circumference is as far as anything is.
        guard angle < 180 else { return "(device.latitude is not null and device.longitude is not null)" }
        let (latitude, longitude, limit) = (
            "\(text("\(center.latitude)"))::float8", "\(text("\(center.longitude)"))::float8", "\(text("\(angle)"))::float8"
        )
        return """
            coalesce(
                abs(device.latitude - \(latitude)) <= \(limit) + 1e-6
                    and 1 - cosd(device.latitude - \(latitude))
                        + cosd(device.latitude) * cosd(\(latitude)) * (1 - cosd(device.longitude - \(longitude)))
                        <= 1 - cosd(\(limit)), false)
            """
    }

    private mutating func age(_ column: String, _ comparison: Comparison, _ hours: Double) -> String {
        guard comparison.isOrder else { return "false" }
        return """
            coalesce(extract(epoch from \(Position.moment)::timestamptz) - \(column) \
            \(comparison.sqlOperator) \(text("\(hours)"))::numeric * 3600, false)
            """
    }
}

extension AudienceSQL {
    private mutating func tag(_ key: String, _ relation: TagRelation) -> String {
        switch relation {
        case .compares(.equal, let value): return tagged("= \(hash(key, text(value)))")
        case .isOneOf(let values):
            guard !values.isEmpty else { return "false" }
            return tagged("= any(array(select \(hash(key, "value")) from unnest(\(array(values))) as value))")
        default: break
        }
        needsDevice = true
        let stored = "(device.tags ->> \(text(key)))"
        switch relation {
        case .compares(.equal, _), .isOneOf: return "false"
        case .compares(.notEqual, let value): return "\(stored) is distinct from \(text(value))"
        case .compares(let comparison, let value):
            guard TagNumber.matches(value) else { return "false" }
            return numeric(stored, "%::numeric \(comparison.sqlOperator) \(text(value))::numeric")
        case .isNoneOf(let values):
            return values.isEmpty ? "true" : "coalesce(\(stored) <> all(\(array(values))), true)"
        case .exists: return "\(stored) is not null"
        case .notExists: return "\(stored) is null"
        case .timeElapsedGreater(let seconds): return elapsed(stored, .greater, seconds)
        case .timeElapsedLess(let seconds): return elapsed(stored, .less, seconds)
        }
    }

    private mutating func hash(_ key: String, _ value: String) -> String {
        "tag_hash(\(Position.application), \(text(key)), \(value))"
    }

    /// As a semi-join or a hashed look-up, whichever the planner finds cheaper; served by device_tag_audience.
    private func tagged(_ hash: String) -> String {
        """
        token.device_id in (
            select tag.device_id from device_tag as tag
            where tag.hash \(hash) and tag.device_id > \(Position.low) and tag.device_id <= \(Position.high))
        """
    }

    private mutating func array(_ values: [String]) -> String {
        let first = texts.count + 1
        texts += values
        return "(\(Position.texts)::text[])[\(first):\(texts.count)]"
    }

    private mutating func elapsed(_ stored: String, _ comparison: Comparison, _ seconds: Double) -> String {
        let elapsed = "extract(epoch from \(Position.moment)::timestamptz) - %::numeric"
        return numeric(stored, "\(elapsed) \(comparison.sqlOperator) \(text("\(seconds)"))::numeric")
    }

    /// CASE decides before the cast, which therefore never sees anything but a number.
    private func numeric(_ stored: String, _ comparison: String) -> String {
        let parts = comparison.split(separator: "%", omittingEmptySubsequences: false)
        return "case when \(stored) ~ '\(TagNumber.pattern)' then \(parts.joined(separator: stored)) else false end"
    }
}

extension Comparison {
    var sqlOperator: String {
        switch self {
        case .greater: ">"
        case .less: "<"
        case .equal: "="
        case .notEqual: "<>"
        }
    }
}
