import Gateway
import JSON
import PostgreSQL

/// A device as it is stored, and how a registration changes it.
struct StoredDevice: Equatable {
    /// The alias label that names the app's own user.
    static let externalIDLabel: ExactText = "external_id"

    var environment: PushEnvironment
    var aliases: [ExactText: ExactText]
    var tags: [ExactText: ExactText]
    var language: String?
    var country: String?
    var appVersion: ExactText?
    var osVersion: ExactText?
    var timeZone: ExactText?
    var sessionCount: Int64
    var firstSession: Int64?
    var lastSession: Int64?
    var sessionSeconds: Int64
    var location: DeviceLocation?

    var externalID: ExactText? { aliases[Self.externalIDLabel] }

    /// A device nothing is known of.
    init(environment: PushEnvironment) {
        self.environment = environment
        aliases = [:]
        tags = [:]
        sessionCount = 0
        sessionSeconds = 0
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
        appVersion = row.optionalText(column: 5).map { ExactText($0) }
        osVersion = row.optionalText(column: 6).map { ExactText($0) }
        timeZone = row.optionalText(column: 7).map { ExactText($0) }
        sessionCount = row.int64(row: 0, column: 8)
        firstSession = row.optionalInt64(column: 9)
        lastSession = row.optionalInt64(column: 10)
        sessionSeconds = row.int64(row: 0, column: 13)
        location = row.location(row: 0, firstColumn: 14)
    }

    private static func texts(_ json: [UInt8]) -> [ExactText: ExactText]? {
        guard let root = try? JSONDocument(parsing: json).root else { return nil }
        var texts: [ExactText: ExactText] = [:]
        for (key, value) in root.members { texts[ExactText(key)] = value.string.map { ExactText($0) } }
        return texts
    }

    var tagsJSON: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in tags.sorted(by: { $0.key < $1.key }) { writer.member(key.text, value.text) }
        writer.endObject()
        return writer.bytes
    }

    /// What a registration makes of it.
    ///
    /// A device whose user changes, or leaves, keeps nothing of the former user's aliases.
    func applying(_ registration: DeviceRegistration) -> StoredDevice {
        var device = self
        var told = registration.aliases.mapValues { $0.map { ExactText($0) } }
        if let externalID = registration.externalID { told[Self.externalIDLabel] = .some(ExactText(externalID)) }
        if let former = externalID, let change = told[Self.externalIDLabel], change != former { device.aliases = [:] }
        for (label, identifier) in told { device.aliases[label] = identifier }
        for (key, value) in registration.tags { device.tags[key] = value.map { ExactText($0) } }
        device.environment = registration.environment ?? environment
        device.language = registration.language ?? language
        device.country = registration.country ?? country
        device.appVersion = registration.appVersion.map { ExactText($0) } ?? appVersion
        device.osVersion = registration.osVersion.map { ExactText($0) } ?? osVersion
        device.timeZone = registration.timeZone.map { ExactText($0) } ?? timeZone
        device.sessionCount = registration.sessionCount ?? sessionCount
        device.firstSession = registration.firstSession ?? firstSession
        device.lastSession = registration.lastSession ?? lastSession
        device.sessionSeconds = registration.sessionSeconds ?? sessionSeconds
        device.location = registration.location ?? location
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
