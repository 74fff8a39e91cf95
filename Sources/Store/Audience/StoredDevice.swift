import Gateway
import JSON
import PostgreSQL

/// A device as it is stored, and how a registration changes it.
struct StoredDevice: Equatable {
    /// The alias label that names the app's own user.
    static let externalIDLabel = "external_id"

    var environment: PushEnvironment
    var aliases: [String: String]
    var tags: [String: String]
    var language: String?
    var country: String?
    var appVersion: String?
    var osVersion: String?
    var timeZone: String?
    var sessionCount: Int64
    var firstSession: Int64?
    var lastSession: Int64?

    var externalID: String? { aliases[Self.externalIDLabel] }

    /// A device nothing is known of.
    init(environment: PushEnvironment) {
        self.environment = environment
        aliases = [:]
        tags = [:]
        sessionCount = 0
    }

    /// Reads a row of `DeviceStatements.find`.
    init?(_ row: QueryResult) {
        guard let environment = PushEnvironment(rawValue: row.int16(row: 0, column: 2)),
            let tags = Self.texts(row.jsonb(row: 0, column: 11)), let aliases = Self.texts(row.jsonb(row: 0, column: 12))
        else { return nil }
        self.environment = environment
        self.tags = tags
        self.aliases = aliases
        language = row.optionalText(column: 3)
        country = row.optionalText(column: 4)
        appVersion = row.optionalText(column: 5)
        osVersion = row.optionalText(column: 6)
        timeZone = row.optionalText(column: 7)
        sessionCount = row.int64(row: 0, column: 8)
        firstSession = row.optionalInt64(column: 9)
        lastSession = row.optionalInt64(column: 10)
    }

    private static func texts(_ json: [UInt8]) -> [String: String]? {
        guard let root = try? JSONDocument(parsing: json).root else { return nil }
        var texts: [String: String] = [:]
        for (key, value) in root.members { texts[key] = value.string }
        return texts
    }

    var tagsJSON: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in tags.sorted(by: { $0.key < $1.key }) { writer.member(key, value) }
        writer.endObject()
        return writer.bytes
    }

    /// What a registration makes of it.
    ///
    /// A device whose user changes, or leaves, keeps nothing of the former user's aliases.
    func applying(_ registration: DeviceRegistration) -> StoredDevice {
        var device = self
        var told = registration.aliases
        if let externalID = registration.externalID { told[Self.externalIDLabel] = .some(externalID) }
        if let former = externalID, let change = told[Self.externalIDLabel], change != former { device.aliases = [:] }
        for (label, identifier) in told { device.aliases[label] = identifier }
        for (key, value) in registration.tags { device.tags[key] = value }
        device.environment = registration.environment ?? environment
        device.language = registration.language ?? language
        device.country = registration.country ?? country
        device.appVersion = registration.appVersion ?? appVersion
        device.osVersion = registration.osVersion ?? osVersion
        device.timeZone = registration.timeZone ?? timeZone
        device.sessionCount = registration.sessionCount ?? sessionCount
        device.firstSession = registration.firstSession ?? firstSession
        device.lastSession = registration.lastSession ?? lastSession
        return device
    }

    /// Why it may not be stored; nil when it may.
    var refusal: RegistrationResult? {
        if tags.count > AdmissionLimits.tagCount { return .tooManyTags }
        // The user is told beside the aliases, and takes no place among them.
        let aliasCount = aliases.count - (externalID == nil ? 0 : 1)
        return aliasCount > AdmissionLimits.aliasCount ? .tooManyAliases : nil
    }
}
