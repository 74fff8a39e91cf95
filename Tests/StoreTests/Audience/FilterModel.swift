import Foundation
import Gateway

@testable import Store

/// A device in memory, and what the doc comments of `FilterCondition` say of it: a second opinion on the SQL.
struct FilterDevice {
    let number: Int
    var tags: [String: String] = [:]
    var language: String?
    var country: String?
    var appVersion: String?
    var sessionCount: Int64
    var firstSession: Int64?
    var lastSession: Int64?
    var sessionSeconds: Int64
    var location: DeviceLocation?

    static let keys = ["plan", "level", "since", "odd key '\"\\%"]
    static let values = [
        "pro", "Pro", "10", "9.5", "-4", "1e3", "1000", "+7", ".5", "5.", " 7", "0x10", "1e999", "NaN", "Infinity", "", "٣",
        "9007199254740993", "9007199254740992", "1899999000", "1899990000.5", "1900000500", "a,b", "%", "{x}", "1\n",
    ]
    static let versions = ["1", "1.0", "1.2", "1.2.0", "1.10", "2", "10.0.1", "v2", "1.2-beta", "1..2", "0"]
    static let languages = ["en", "EN", "de", "pt-BR"]
    static let countries = ["DE", "FR", "US"]
    /// Both sides of the date line, both poles, towns that are far and near, and a point beside 0 that tempts numbers to underflow.
    static let places = [
        (0, 180), (0, -180), (0.01, -179.99), (-17.5, 179.9), (-17.5, -179.9), (90, 0), (90, 120), (89.99, -60), (-90, 10),
        (-89.5, 100), (52.52, 13.405), (52.4, 13.06), (48.137, 11.575), (-52.52, -166.595), (0, 0), (1e-300, -1e-300),
    ].map { DeviceLocation(latitude: $0, longitude: $1) }
    /// None of the places is this far from another, to a metre.
    static let radii: [Double] = [0, 1e-300, 1, 2_500, 30_000, 150_000, 600_000, 9_000_000, 19_999_000, 20_015_200, 1e10]
    static let ages: [Int64] = [0, 1_800, 3_600, 3_601, 90_000, -3_600]

    init(number: Int, random: inout SeededGenerator) {
        self.number = number
        for key in Self.keys where Int.random(in: 0..<3, using: &random) > 0 { tags[key] = random.pick(Self.values) }
        language = random.pick(Self.languages.map { $0 } + [nil])
        country = random.pick(Self.countries.map { $0 } + [nil])
        appVersion = random.pick(Self.versions.map { $0 } + [nil])
        sessionCount = Int64.random(in: 0...4, using: &random)
        firstSession = random.pick(Self.ages.map { FilterTests.moment - $0 } + [nil])
        lastSession = random.pick(Self.ages.map { FilterTests.moment - $0 } + [nil])
        sessionSeconds = random.pick([0, 59, 60, 61, 1_000_000])
        location = random.pick(Self.places.map { $0 } + [nil])
    }

    func fill(_ registration: inout DeviceRegistration) {
        registration.tags = Dictionary(uniqueKeysWithValues: tags.map { (ExactText($0), Optional($1)) })
        registration.language = language
        registration.country = country
        registration.appVersion = appVersion
        registration.sessionCount = sessionCount
        registration.firstSession = firstSession
        registration.lastSession = lastSession
        registration.sessionSeconds = sessionSeconds
        registration.location = location
    }

    func matches(_ condition: FilterCondition) -> Bool {
        switch condition {
        case .tag(let key, let relation): matches(tags[key], relation)
        case .country(let comparison, let value): equals(comparison, country, value)
        case .countryExists(let exists): (country != nil) == exists
        case .language(let comparison, let value): equals(comparison, language?.lowercased(), value.lowercased())
        case .appVersion(let comparison, let value): matchesVersion(comparison, value)
        case .sessionCount(let comparison, let value): order(comparison, Decimal(sessionCount), Decimal(value))
        case .sessionTime(let comparison, let seconds): order(comparison, Decimal(sessionSeconds), Decimal(seconds))
        case .within(let metres, let center): location.map { Self.distance($0, center) <= metres } ?? false
        case .lastSession(let comparison, let hours): matchesAge(comparison, lastSession, hours)
        case .firstSession(let comparison, let hours): matchesAge(comparison, firstSession, hours)
        }
    }

    private func matches(_ value: String?, _ relation: TagRelation) -> Bool {
        switch relation {
        case .compares(let comparison, let operand):
            switch comparison {
            case .equal, .notEqual: return equals(comparison, value, operand)
            case .greater, .less:
                guard let left = value.flatMap(Self.number), let right = Self.number(operand) else { return false }
                return order(comparison, left, right)
            }
        case .exists: return value != nil
        case .notExists: return value == nil
        case .timeElapsedGreater(let seconds):
            return value.flatMap(Self.number).map { Decimal(FilterTests.moment) - $0 > Decimal(seconds) } ?? false
        case .timeElapsedLess(let seconds):
            return value.flatMap(Self.number).map { Decimal(FilterTests.moment) - $0 < Decimal(seconds) } ?? false
        case .isOneOf(let operands): return value.map { value in operands.contains { Self.same($0, value) } } ?? false
        case .isNoneOf(let operands): return value.map { value in !operands.contains { Self.same($0, value) } } ?? true
        }
    }

    private func matchesVersion(_ comparison: Comparison, _ operand: String) -> Bool {
        func dotted(_ text: String) -> [Int]? {
            let parts = text.components(separatedBy: ".").map { Int($0) }
            return parts.contains(nil) || text.contains("-") ? nil : parts.compactMap(\.self)
        }
        guard let version = appVersion, let left = dotted(version), let right = dotted(operand) else {
            return equals(comparison, appVersion, operand)
        }
        for index in 0..<max(left.count, right.count) {
            let (one, other) = (index < left.count ? left[index] : 0, index < right.count ? right[index] : 0)
            if one != other { return order(comparison, Decimal(one), Decimal(other)) }
        }
        return comparison == .equal
    }

    private func matchesAge(_ comparison: Comparison, _ session: Int64?, _ hours: Double) -> Bool {
        guard let session, comparison == .greater || comparison == .less else { return false }
        return order(comparison, Decimal(FilterTests.moment - session), Decimal(hours) * 3600)
    }

    /// Through the Earth first, then along its surface.
    static func distance(_ one: DeviceLocation, _ other: DeviceLocation) -> Double {
        func vector(_ place: DeviceLocation) -> [Double] {
            let (latitude, longitude) = (place.latitude * .pi / 180, place.longitude * .pi / 180)
            return [cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude)]
        }
        let chord = zip(vector(one), vector(other)).map { ($0 - $1) * ($0 - $1) }.reduce(0, +).squareRoot()
        // Less than a centimetre is what rounding makes of two ways to say the same place.
        let metres = 2 * DeviceLocation.earthRadiusMetres * asin(min(1, chord / 2))
        return metres < 0.01 ? 0 : metres
    }

    private func equals(_ comparison: Comparison, _ value: String?, _ operand: String) -> Bool {
        let isSame = value.map { Self.same($0, operand) } ?? false
        return comparison == .equal ? isSame : comparison == .notEqual ? !isSame : false
    }

    private func order(_ comparison: Comparison, _ left: Decimal, _ right: Decimal) -> Bool {
        switch comparison {
        case .greater: left > right
        case .less: left < right
        case .equal: left == right
        case .notEqual: left != right
        }
    }

    /// Bytes, not canonical equivalence.
    private static func same(_ left: String, _ right: String) -> Bool { Array(left.utf8) == Array(right.utf8) }

    /// Digits with an optional sign, point, and an exponent of at most two digits.
    private static func number(_ text: String) -> Decimal? {
        let pattern = #"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?\z"#
        guard text.range(of: pattern, options: .regularExpression) != nil else { return nil }
        return Decimal(string: text.hasPrefix("+") ? String(text.dropFirst()) : text, locale: Locale(identifier: "en_US_POSIX"))
    }
}

extension FilterCondition {
    static func random(_ random: inout SeededGenerator) -> FilterCondition {
        let comparison = random.pick([Comparison.greater, .less, .equal, .notEqual])
        switch Int.random(in: 0..<15, using: &random) {
        case 0...4: return .tag(key: random.pick(FilterDevice.keys + ["absent"]), TagRelation.random(&random))
        case 5: return .country(comparison, random.pick(FilterDevice.countries))
        case 6: return .countryExists(Bool.random(using: &random))
        case 7: return .language(comparison, random.pick(FilterDevice.languages))
        case 8: return .appVersion(comparison, random.pick(FilterDevice.versions))
        case 9: return .sessionCount(comparison, Int64.random(in: 0...4, using: &random))
        case 10: return .lastSession(comparison, hoursAgo: random.pick([0, 0.5, 1, 25, 1e6]))
        case 11: return .sessionTime(random.pick([.greater, .less]), seconds: random.pick([0, 59.5, 60, 1e6]))
        case 12, 13: return .within(metres: random.pick(FilterDevice.radii), of: random.pick(FilterDevice.places))
        default: return .firstSession(comparison, hoursAgo: random.pick([0, 0.5, 1, 25, 1e6]))
        }
    }
}

extension TagRelation {
    static func random(_ random: inout SeededGenerator) -> TagRelation {
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: .compares(random.pick([.greater, .less, .equal, .notEqual]), random.pick(FilterDevice.values))
        case 4: .exists
        case 5: .notExists
        case 6: .timeElapsedGreater(seconds: random.pick([0, 1_000, 9_999.25]))
        case 7: .timeElapsedLess(seconds: random.pick([0, 1_000, 9_999.25]))
        case 8: .isOneOf((0..<3).map { _ in random.pick(FilterDevice.values) })
        default: .isNoneOf((0..<3).map { _ in random.pick(FilterDevice.values) })
        }
    }
}
