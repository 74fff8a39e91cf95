import Synchronization

/// A notification this worker is sending, with everything that is made once for all its chunks.
struct ActiveJob {
    let job: PushJob
    private let rendered: RenderedBodies
    let cancellation = Cancellation()
    var openChunkCount = 0

    init(job: PushJob, renderer: any PayloadRenderer) {
        self.job = job
        rendered = RenderedBodies(job: job, renderer: renderer)
    }

    func isExpired(at now: UnixMilliseconds) -> Bool { now >= job.expiry }

    /// Which body a device of this language gets: that of its tag, else of the tag without its last subtags, one by one, else the first
    /// (`en`). Source: RFC 4647, 3.4. iOS names scripts (`zh-Hant-TW`), and some apps write `_` for `-`.
    func bodyIndex(language: String) -> UInt8 {
        guard job.content.alerts.count > 1 else { return 0 }
        let tags = job.content.alerts.map { LanguageTag.comparable($0.language) }
        var wanted = LanguageTag.comparable(language)[...]
        while true {
            if let index = tags.firstIndex(where: { $0.elementsEqual(wanted) }) { return UInt8(index) }
            guard let separator = wanted.lastIndex(of: LanguageTag.separator) else { return 0 }
            wanted = wanted[..<separator]
        }
    }

    /// `apns-collapse-id`: one a start's activity, so that a start sent again replaces the card instead of adding one.
    ///
    /// Updates carry none: content states are ordered by `timestamp`. Source: Apple allows 64 bytes; a longer activity
    /// id is folded into 16 hexadecimal digits of its 64-bit FNV-1a hash.
    var collapseID: String? {
        guard job.content.event == .start else { return nil }
        guard job.activityID.utf8.count > 64 || !job.activityID.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return job.activityID
        }
        let hash = job.activityID.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The chunk's devices as one batch a service and variant, with the chunk's indexes each batch holds, in rising order.
    func batches(of chunk: Chunk, onFirstAccepted: @escaping @Sendable () -> Void) -> [(batch: PushBatch, indexes: [Int])] {
        let bodyIndexes = bodyIndexes(of: chunk)
        func batch(_ group: DeviceGroup, _ devices: [Int64], _ tokens: TokenList, _ bodyIndexes: [UInt8]) -> PushBatch {
            PushBatch(
                application: job.application, service: group.service, notification: job.notification, collapseID: collapseID,
                priority: job.content.priority, expiresAt: expiresAt(for: group.service),
                bodies: rendered.bodies(in: form(for: group)), devices: devices,
                tokens: tokens, bodyIndexes: bodyIndexes, cancellation: cancellation, onFirstAccepted: onFirstAccepted)
        }
        // Nearly always: nothing needs to be picked out.
        if let only = DeviceGroup(allOf: chunk) {
            return [(batch(only, chunk.devices, chunk.tokens, bodyIndexes), Array(chunk.devices.indices))]
        }
        var members: [DeviceGroup: [Int]] = [:]
        for index in chunk.devices.indices { members[DeviceGroup(of: index, in: chunk), default: []].append(index) }
        return members.sorted { $0.value[0] < $1.value[0] }.map { group, indexes in
            var tokens = TokenList()
            tokens.reserve(count: indexes.count, tokenByteCount: chunk.tokens.bytes.count / max(1, chunk.tokens.count))
            for index in indexes { tokens.append(chunk.tokens.bytes[chunk.tokens.range(index)]) }
            return (batch(group, indexes.map { chunk.devices[$0] }, tokens, indexes.map { bodyIndexes[$0] }), indexes)
        }
    }

    private func form(for group: DeviceGroup) -> PayloadForm {
        let variant = job.variants[Int(group.variant)]
        return PayloadForm(
            service: group.service, attributesType: variant.attributesType,
            channelID: job.joinedChannel(variant: group.variant, service: group.service)?.identifier)
    }

    /// `apns-expiration`: 0 for a channel that keeps nothing, for which Apple takes no other.
    private func expiresAt(for service: PushService) -> Int64 {
        guard service.isBroadcast, let environment = service.environment, job.channels[environment]?.policy == .nothing else {
            return job.expiresAt
        }
        return 0
    }

    /// Which body each device of a chunk gets.
    private func bodyIndexes(of chunk: Chunk) -> [UInt8] {
        guard !chunk.languages.isEmpty else { return [UInt8](repeating: 0, count: chunk.devices.count) }
        var known: [String: UInt8] = [:]
        return chunk.languages.map { language in
            guard let language else { return 0 }
            if let index = known[language] { return index }
            let index = bodyIndex(language: language)
            known[language] = index
            return index
        }
    }
}

/// The bodies of a notification, made once a form for all its chunks. Forms are few: services and variants.
private final class RenderedBodies: Sendable {
    private let job: PushJob
    private let renderer: any PayloadRenderer
    private let known = Mutex<[PayloadForm: [[UInt8]]]>([:])

    init(job: PushJob, renderer: any PayloadRenderer) {
        self.job = job
        self.renderer = renderer
    }

    /// One body a language.
    func bodies(in form: PayloadForm) -> [[UInt8]] {
        known.withLock { known in
            if let bodies = known[form] { return bodies }
            let bodies = renderer.bodies(of: job.content, form: form, timestamp: job.timestamp)
            known[form] = bodies
            return bodies
        }
    }
}

/// Devices that get the same bodies by the same service.
private struct DeviceGroup: Hashable {
    let service: PushService
    let variant: UInt8

    init(of index: Int, in chunk: Chunk) {
        guard let service = PushService(rawValue: chunk.services[index]) else {
            preconditionFailure("a constraint keeps other services out")
        }
        self.service = service
        variant = chunk.variants.isEmpty ? 0 : chunk.variants[index]
    }

    /// The group of all devices; nil when there are several.
    init?(allOf chunk: Chunk) {
        guard let service = chunk.services.first, chunk.services.allSatisfy({ $0 == service }),
            chunk.variants.allSatisfy({ $0 == chunk.variants[0] })
        else { return nil }
        self.init(of: 0, in: chunk)
    }
}
