import Gateway

/// Registrations in rounds that one statement can store: of one app, of devices named in one way, and
/// no token, and no device with one type, twice.
///
/// Whoever shares such a thing with one that waits for a later round waits behind it, so that the last one told wins.
struct StartTokenRounds: Sequence, IteratorProtocol {
    private struct Row: Hashable {
        let device: DeviceName
        let type: ExactText
    }

    private let registrations: [StartTokenRegistration]
    private var waiting: [Int]

    init(_ registrations: [StartTokenRegistration]) {
        self.registrations = registrations
        waiting = Array(registrations.indices)
    }

    /// The places of the next round's registrations; at least the first that waits is among them.
    mutating func next() -> [Int]? {
        guard let first = waiting.first.map({ registrations[$0] }) else { return nil }
        var rows: Set<Row> = []
        var tokens: Set<[UInt8]> = []
        var round: [Int] = []
        var later: [Int] = []
        for index in waiting {
            let registration = registrations[index]
            let isRowFree = rows.insert(Row(device: registration.device, type: ExactText(registration.activityType))).inserted
            let isTokenFree = tokens.insert(registration.token).inserted
            let isAlike = registration.application == first.application && registration.device.isToken == first.device.isToken
            if isRowFree, isTokenFree, isAlike { round.append(index) } else { later.append(index) }
        }
        waiting = later
        return round
    }
}

extension DeviceName {
    fileprivate var isToken: Bool { pushToken != nil }
}
