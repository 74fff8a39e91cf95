import Gateway
import PostgreSQL

/// The statements that turn one state of a device into another.
struct DeviceChange {
    let application: ApplicationID
    let device: Int64
    let before: DeviceProfile
    let after: DeviceProfile
    /// What makes the one of the other.
    let registration: DeviceRegistration
    /// The token that takes the place of what is stored; nil leaves it.
    var pushToken: [UInt8]?

    private var key: [Parameter] { [.application(application), .int64(device)] }

    var calls: [StatementCall] {
        guard before != after || pushToken != nil else { return [] }
        var calls = [StatementCall(DeviceStatements.update, key + fields)]
        calls += pairCalls(
            before.tags, after.tags, remove: DeviceStatements.removeTags, add: DeviceStatements.addTags)
        calls += pairCalls(
            before.aliases, after.aliases, remove: DeviceStatements.removeAliases, add: DeviceStatements.addAliases)
        if before.isLeft(by: registration) {
            calls.append(StatementCall(DeviceStatements.removeUpdateTokens, key))
            calls.append(
                StatementCall(DeviceStatements.removeMemberships, [.application(application), .int64Array([device])]))
        }
        if before.platform != after.platform {
            // Another phone: what the former one told opens nothing here.
            calls += DeviceStatements.tokenRemoval(of: device, application)
        } else if before.service != after.service || pushToken != nil && after.service.environment == nil {
            // FCM's token is a part of what is stored.
            calls.append(StatementCall(DeviceStatements.moveStartTokens, key))
            calls.append(StatementCall(DeviceStatements.moveUpdateTokens, key))
        }
        return calls
    }

    private var fields: [Parameter] {
        [
            .int16(after.environment.rawValue), Parameter(after.externalID?.text), Parameter(after.language),
            Parameter(after.country), Parameter(after.appVersion?.text),
            after.appVersion.flatMap { AppVersion.parts($0.text) }.map(Parameter.int64Array) ?? .null,
            Parameter(after.osVersion?.text),
            Parameter(after.timeZone?.text), .int64(after.sessionCount), Parameter(after.firstSession),
            Parameter(after.lastSession), .jsonb(after.tagsJSON), .int64(after.sessionSeconds),
            Parameter(after.location?.latitude), Parameter(after.location?.longitude), .bool(after.isEnabled),
            pushToken.map(Parameter.bytes) ?? .null, .int16(after.platform.rawValue), .bool(after.isRelayed),
            .bool(before.leavesNamed(to: after, by: registration)),
        ]
    }

    private func pairCalls(
        _ before: [ExactText: ExactText], _ after: [ExactText: ExactText], remove: Statement, add: Statement
    ) -> [StatementCall] {
        let removed = before.filter { after[$0.key] != $0.value }.keys.sorted()
        let added = after.filter { before[$0.key] != $0.value }.sorted { $0.key < $1.key }
        var calls: [StatementCall] = []
        if !removed.isEmpty { calls.append(StatementCall(remove, key + [.textArray(removed.map(\.text))])) }
        if !added.isEmpty {
            calls.append(StatementCall(add, key + [.textArray(added.map(\.key.text)), .textArray(added.map(\.value.text))]))
        }
        return calls
    }
}
