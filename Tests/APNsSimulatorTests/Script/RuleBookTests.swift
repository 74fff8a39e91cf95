import Testing

@testable import APNsSimulator

@Suite("Rule book") struct RuleBookTests {
    private func applications(_ condition: Rule.Condition, of count: Int) -> Int {
        let book = RuleBook()
        _ = book.add([Rule(.answer(.tooManyRequests), when: condition)])
        return (0..<count).filter { _ in
            book.effect(on: .request, RuleBook.Circumstances(environment: .production)) != nil
        }.count
    }

    @Test("draws the same part in every run")
    func draws() {
        let condition = ScriptTests.condition { $0.fraction = 0.1 }
        let first = applications(condition, of: 10_000)
        #expect((900...1100).contains(first))
        #expect(applications(condition, of: 10_000) == first)
    }

    @Test("stops after so many applications")
    func stops() { #expect(applications(ScriptTests.condition { $0.count = 3 }, of: 10) == 3) }

    @Test("puts the parts of several rules together; the earlier one decides")
    func merges() throws {
        let book = RuleBook()
        _ = book.add([
            Rule(.answer(.tooManyRequests)), Rule(ScriptTests.effect { $0.delayMilliseconds = 5...9 }),
            Rule(.answer(.shutdown)),
        ])
        let effect = try #require(book.effect(on: .request, RuleBook.Circumstances(environment: .sandbox)))
        #expect(effect.answer == PushAnswer(.tooManyRequests))
        #expect(effect.delayMilliseconds == 5...9)
        #expect(book.applicationCounts.map(\.applications) == [1, 1, 1])
    }

    @Test(
        "asks for every part of a condition",
        arguments: [
            ScriptTests.condition { $0.environment = .sandbox }, ScriptTests.condition { $0.token = [2] },
            ScriptTests.condition { $0.topic = "b" }, ScriptTests.condition { $0.event = .end },
            ScriptTests.condition { $0.providerToken = 2 },
        ])
    func matches(condition: Rule.Condition) {
        let other = RuleBook.Circumstances(environment: .production, token: [1], topic: "a", event: .start, providerToken: 1)
        let same = RuleBook.Circumstances(environment: .sandbox, token: [2], topic: "b", event: .end, providerToken: 2)
        #expect(!condition.matches(other))
        #expect(condition.matches(same))
    }

    @Test("forgets a rule by its number")
    func removes() throws {
        let book = RuleBook()
        let numbers = try #require(book.add([Rule(.answer(.shutdown)), Rule(.answer(.forbidden))]))
        #expect(book.remove(numbers[0]))
        #expect(!book.remove(numbers[0]))
        #expect(
            book.effect(on: .request, RuleBook.Circumstances(environment: .production))?.answer == PushAnswer(.forbidden))
    }
}
