import Gateway
import PostgreSQL
import TestSupport
import Testing

@testable import Store

@Suite("Rate limit", .enabled(if: TestDatabase.isAvailable)) struct RateLimitTests {
    @Test("admits 60 calls at once, however many come")
    func admitsSixty() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let decisions = try await withThrowingTaskGroup(of: RateDecision.self) { group in
                for _ in 0..<100 { group.addTask { try await fixture.store.admitCall(of: fixture.application.id) } }
                return try await group.reduce(into: [RateDecision]()) { $0.append($1) }
            }
            #expect(decisions.count { $0 == .admitted } == 60)
            for decision in decisions where decision != .admitted {
                guard case .refused(let seconds) = decision else { continue }
                #expect((50...60).contains(seconds))
            }
        }
    }

    @Test("says when the next call passes, and it does")
    func saysWhen() async throws {
        try await StoreFixture.with { fixture in
            func age(_ seconds: String) async throws {
                try await fixture.session.execute(
                    "update rate_limit set calls = (select array_agg(c - interval '\(seconds) s' order by c) from unnest(calls) c)"
                )
            }
            for _ in 0..<60 { #expect(try await fixture.store.admitCall(of: fixture.application.id) == .admitted) }
            try await age("40")
            guard case .refused(let seconds) = try await fixture.store.admitCall(of: fixture.application.id) else {
                throw FixtureError.unexpected("admitted")
            }
            #expect((1...20).contains(seconds))
            try await age("\(seconds)")
            // Only the oldest calls have left the window; each makes room for one.
            #expect(try await fixture.store.admitCall(of: fixture.application.id) == .admitted)
            #expect(try await fixture.number("select cardinality(calls) from rate_limit") == 60)
        }
    }

    @Test("does not lock an app out when the database's clock was set back")
    func clockSetBack() async throws {
        try await StoreFixture.with { fixture in
            for _ in 0..<60 { _ = try await fixture.store.admitCall(of: fixture.application.id) }
            try await fixture.session.execute(
                "update rate_limit set calls = (select array_agg(c + interval '1 hour' order by c) from unnest(calls) c)")
            let decisions = try await withThrowingTaskGroup(of: RateDecision.self) { group in
                for _ in 0..<100 { group.addTask { try await fixture.store.admitCall(of: fixture.application.id) } }
                return try await group.reduce(into: [RateDecision]()) { $0.append($1) }
            }
            #expect(decisions.count { $0 == .admitted } == 60)
        }
    }

    @Test("never admits more than 60 calls in any 60 s")
    func holdsInAnyWindow() async throws {
        try await StoreFixture.with { fixture in
            // 59 calls half a window ago, one just now: the next one fits only when one of the 59 leaves.
            for _ in 0..<59 { _ = try await fixture.store.admitCall(of: fixture.application.id) }
            try await fixture.session.execute(
                "update rate_limit set calls = (select array_agg(c - interval '30 s' order by c) from unnest(calls) c)")
            #expect(try await fixture.store.admitCall(of: fixture.application.id) == .admitted)
            guard case .refused(let seconds) = try await fixture.store.admitCall(of: fixture.application.id) else {
                throw FixtureError.unexpected("admitted")
            }
            #expect((1...30).contains(seconds))
        }
    }

    @Test("belongs to an app")
    func isPerApp() async throws {
        try await StoreFixture.with { fixture in
            let other = try await StoreFixture.makeApplication(fixture.store, name: "Other")
            for _ in 0..<60 { _ = try await fixture.store.admitCall(of: fixture.application.id) }
            #expect(try await fixture.store.admitCall(of: fixture.application.id) != .admitted)
            #expect(try await fixture.store.admitCall(of: other.id) == .admitted)
        }
    }
}
