import Synchronization

/// The rules in force, in the order they were added, with their counters.
final class RuleBook: Sendable {
    /// Most rules in force at once.
    static let ruleLimit = 100_000

    /// What a rule's condition is held against.
    struct Circumstances {
        var environment: PushEnvironment
        var token: [UInt8]?
        var topic: String?
        var event: PayloadReading.Event?
        var providerToken: Int?
        var operation: ChannelOperation?
    }

    fileprivate struct Entry {
        let id: Int
        let rule: Rule
        var matchCount = 0
        var applicationCount = 0
        var generator: FixedGenerator
    }
    fileprivate struct State {
        var entries: [Entry] = []
        var lastID = 0
        var generator = FixedGenerator(seed: 0)
    }
    private let state = Mutex(State())
    /// Number of rules; lets a push pass without the lock while there are none.
    private let entryCount = Atomic(0)

    /// Adds rules and answers their numbers; nil when there would be too many.
    func add(_ rules: [Rule]) -> [Int]? {
        state.withLock { state in
            guard state.entries.count + rules.count <= RuleBook.ruleLimit else { return nil }
            let ids = rules.map { rule in
                state.lastID += 1
                state.entries.append(Entry(id: state.lastID, rule: rule, generator: FixedGenerator(seed: UInt64(state.lastID))))
                return state.lastID
            }
            entryCount.store(state.entries.count, ordering: .relaxed)
            return ids
        }
    }

    /// Removes a rule; false when there is none with this number.
    func remove(_ id: Int) -> Bool {
        state.withLock { state in
            let before = state.entries.count
            state.entries.removeAll { $0.id == id }
            entryCount.store(state.entries.count, ordering: .relaxed)
            return state.entries.count < before
        }
    }

    /// Removes all rules.
    func removeAll() {
        state.withLock { state in
            state.entries = []
            entryCount.store(0, ordering: .relaxed)
        }
    }

    /// How often each rule applied, by number.
    var applicationCounts: [(id: Int, matches: Int, applications: Int)] {
        state.withLock { $0.entries.map { ($0.id, $0.matchCount, $0.applicationCount) } }
    }

    /// What the rules want of one request or connection; nil when none applies.
    func effect(on subject: Rule.Subject, _ circumstances: Circumstances) -> Rule.Effect? {
        guard entryCount.load(ordering: .relaxed) > 0 else { return nil }
        return state.withLock { state in
            var effect: Rule.Effect?
            for index in state.entries.indices where state.entries[index].applies(to: subject, circumstances) {
                if effect == nil {
                    effect = state.entries[index].rule.effect
                } else {
                    effect?.merge(state.entries[index].rule.effect)
                }
            }
            return effect
        }
    }

    /// A number of the range, by the generator with the fixed seed.
    func draw(_ range: ClosedRange<Int64>) -> Int64 {
        if range.lowerBound == range.upperBound { return range.lowerBound }
        return state.withLock { Int64.random(in: range, using: &$0.generator) }
    }
}

extension RuleBook.Entry {
    fileprivate mutating func applies(to subject: Rule.Subject, _ circumstances: RuleBook.Circumstances) -> Bool {
        guard rule.subject == subject, rule.condition.matches(circumstances) else { return false }
        matchCount += 1
        let position = matchCount - rule.condition.after
        guard position > 0, position % rule.condition.every == 0, applicationCount < rule.condition.count ?? .max else {
            return false
        }
        if rule.condition.fraction < 1, Double.random(in: 0..<1, using: &generator) >= rule.condition.fraction { return false }
        applicationCount += 1
        return true
    }
}

extension Rule.Condition {
    func matches(_ circumstances: RuleBook.Circumstances) -> Bool {
        (environment == nil || environment == circumstances.environment) && (token == nil || token == circumstances.token)
            && (topic == nil || topic == circumstances.topic) && (event == nil || event == circumstances.event)
            && (operation == nil || operation == circumstances.operation)
            && (providerToken == nil || providerToken == circumstances.providerToken)
    }
}

/// SplitMix64: the same numbers in every run, so that a failure repeats.
struct FixedGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        // Wraps by definition of the algorithm.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
