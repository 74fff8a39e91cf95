import Gateway
import Testing

@testable import APNs

@Suite("Provider token") struct ProviderTokenStateTests {
    /// A moment: minutes after the start, and how far the wall clock has stepped by then.
    private func admit(_ state: inout ProviderTokenState, minute: Int64, step: Int64 = 0) -> TokenAdmission {
        state.admit(now: .seconds(minute * 60), wallSeconds: 1_700_000_000 + minute * 60 + step)
    }

    private func mint(_ state: inout ProviderTokenState, minute: Int64, step: Int64 = 0) -> ProviderToken {
        let wall = 1_700_000_000 + minute * 60 + step
        let token = ProviderToken(token: "t\(minute)-\(step)", issuedAt: wall)
        state.adopt(token, now: .seconds(minute * 60), wallSeconds: wall)
        return token
    }

    private func accept(_ state: inout ProviderTokenState, _ generation: Int) -> Bool { state.accepted(generation: generation) }

    @Test("is used until 50 minutes, renewed until 59, and not used after")
    func ages() {
        var state = ProviderTokenState()
        #expect(admit(&state, minute: 0) == .needsToken)
        let first = IssuedToken(value: mint(&state, minute: 7), generation: 1)
        #expect(admit(&state, minute: 7) == .use(first, renewalIsDue: false))
        #expect(admit(&state, minute: 56) == .use(first, renewalIsDue: false))
        #expect(admit(&state, minute: 57) == .use(first, renewalIsDue: true))
        #expect(admit(&state, minute: 65) == .use(first, renewalIsDue: true))
        #expect(admit(&state, minute: 66) == .needsToken)
        let second = IssuedToken(value: mint(&state, minute: 66), generation: 2)
        #expect(admit(&state, minute: 66) == .use(second, renewalIsDue: false))
    }

    @Test("of another daemon keeps its age")
    func shared() {
        var state = ProviderTokenState()
        let token = ProviderToken(token: "theirs", issuedAt: 1_700_000_000 - 40 * 60)
        #expect(state.isFresh(token, now: .zero, wallSeconds: 1_700_000_000))
        state.adopt(token, now: .zero, wallSeconds: 1_700_000_000)
        #expect(admit(&state, minute: 9) == .use(IssuedToken(value: token, generation: 1), renewalIsDue: false))
        #expect(admit(&state, minute: 10) == .use(IssuedToken(value: token, generation: 1), renewalIsDue: true))
        #expect(!state.isFresh(token, now: .seconds(600), wallSeconds: 1_700_000_600))
        #expect(!state.isFresh(ProviderToken(token: "x", issuedAt: 1_700_010_000), now: .zero, wallSeconds: 1_700_000_000))
    }

    @Test("that expired is replaced once; pushes under it are sent again")
    func expired() {
        var state = ProviderTokenState()
        _ = mint(&state, minute: 0)
        #expect(state.isUsable(generation: 1))
        for _ in 0..<100 { #expect(state.refused(.expiredProviderToken, generation: 1, now: .seconds(60)) == .resend) }
        // Who still holds it submits nothing more under it.
        #expect(!state.isUsable(generation: 1))
        #expect(admit(&state, minute: 1) == .needsToken)
        let second = IssuedToken(value: mint(&state, minute: 1), generation: 2)
        #expect(admit(&state, minute: 1) == .use(second, renewalIsDue: false))
        #expect(state.isUsable(generation: 2) && !state.isUsable(generation: 1))
        // It does not belong where the old one was used.
        #expect(state.spoiltGeneration == 1)
        // Late answers about the old token say nothing about the new one.
        #expect(state.refused(.expiredProviderToken, generation: 1, now: .seconds(61)) == .resend)
        #expect(admit(&state, minute: 2) == .use(second, renewalIsDue: false))
    }

    @Test("that is refused after its replacement holds the key, but for one probe a minute")
    func circuit() {
        var state = ProviderTokenState()
        _ = mint(&state, minute: 0)
        #expect(state.refused(.expiredProviderToken, generation: 1, now: .seconds(60)) == .resend)
        let second = IssuedToken(value: mint(&state, minute: 1), generation: 2)
        #expect(state.refused(.expiredProviderToken, generation: 2, now: .seconds(120)) == .wait(opensCircuit: true))
        #expect(!state.isUsable(generation: 2))
        #expect(state.refused(.expiredProviderToken, generation: 2, now: .seconds(120)) == .wait(opensCircuit: false))
        #expect(admit(&state, minute: 2) == .held(.expiredProviderToken, delay: .seconds(60)))
        #expect(admit(&state, minute: 3) == .needsToken)
        state.adopt(second.value, now: .seconds(180), wallSeconds: 1_700_000_180)
        #expect(admit(&state, minute: 3) == .probe(second))
        #expect(admit(&state, minute: 3) == .held(.expiredProviderToken, delay: .seconds(60)))
        #expect(accept(&state, 2))
        #expect(admit(&state, minute: 3) == .use(second, renewalIsDue: false))
        #expect(!accept(&state, 2))
        // As long as it is the newest one it may go wherever it went before.
        #expect(state.spoiltGeneration == 1)
        _ = mint(&state, minute: 51)
        #expect(state.spoiltGeneration == 2)
    }

    @Test("of a key that was replaced while APNs refused it is tried at the next probe, and ends the wait")
    func replacedKey() {
        var state = ProviderTokenState()
        _ = mint(&state, minute: 0)
        for _ in 0..<3 { _ = state.refused(.invalidProviderToken, generation: 1, now: .zero) }
        #expect(state.isHeld)
        #expect(admit(&state, minute: 0) == .held(.invalidProviderToken, delay: .seconds(60)))
        // Each probe asks the vault anew.
        for minute in [1, 2] as [Int64] {
            #expect(admit(&state, minute: minute) == .needsToken)
            #expect(admit(&state, minute: minute) == .needsToken, "nobody has looked yet")
            let current = state.current!
            state.adopt(current.value, now: .seconds(minute * 60), wallSeconds: 1_700_000_000 + minute * 60)
            #expect(admit(&state, minute: minute) == .probe(current))
            _ = state.refused(.invalidProviderToken, generation: 1, now: .seconds(minute * 60))
        }
        #expect(admit(&state, minute: 3) == .needsToken)
        let second = IssuedToken(value: mint(&state, minute: 3), generation: 2)
        #expect(admit(&state, minute: 3) == .probe(second))
        #expect(accept(&state, 2))
        #expect(admit(&state, minute: 3) == .use(second, renewalIsDue: false))
    }

    @Test("is never replaced twice within 20 minutes, however often it is refused")
    func bounded() {
        var state = ProviderTokenState()
        _ = mint(&state, minute: 0)
        var mints = 0
        for minute in 1...60 {
            _ = state.refused(.expiredProviderToken, generation: mints + 1, now: .seconds(minute * 60))
            if admit(&state, minute: Int64(minute)) == .needsToken {
                mints += 1
                _ = mint(&state, minute: Int64(minute))
            }
        }
        #expect(mints == 3)
    }

    @Test("that is invalid now and then goes on; three times in a row hold the key")
    func invalid() {
        var state = ProviderTokenState()
        _ = mint(&state, minute: 0)
        for _ in 0..<10 {
            #expect(state.refused(.invalidProviderToken, generation: 1, now: .zero) == .wait(opensCircuit: false))
            #expect(state.refused(.invalidProviderToken, generation: 1, now: .zero) == .wait(opensCircuit: false))
            #expect(!accept(&state, 1))
        }
        _ = state.refused(.invalidProviderToken, generation: 1, now: .zero)
        _ = state.refused(.invalidProviderToken, generation: 1, now: .zero)
        #expect(state.refused(.invalidProviderToken, generation: 1, now: .zero) == .wait(opensCircuit: true))
        #expect(admit(&state, minute: 0) == .held(.invalidProviderToken, delay: .seconds(60)))
    }

    @Test("is replaced when the wall clock steps, and keeps its age by the other clock", arguments: [7_200, -7_200] as [Int64])
    func clockStep(step: Int64) {
        var state = ProviderTokenState()
        let first = IssuedToken(value: mint(&state, minute: 0), generation: 1)
        #expect(admit(&state, minute: 5, step: 60) == .use(first, renewalIsDue: false))
        #expect(admit(&state, minute: 6, step: step) == .needsToken)
        #expect(!state.isFresh(first.value, now: .seconds(360), wallSeconds: 1_700_000_360 + step))
        let second = IssuedToken(value: mint(&state, minute: 6, step: step), generation: 2)
        #expect(admit(&state, minute: 7, step: step) == .use(second, renewalIsDue: false))
        #expect(admit(&state, minute: 55, step: step) == .use(second, renewalIsDue: false))
        #expect(admit(&state, minute: 56, step: step) == .use(second, renewalIsDue: true))
    }

    @Test("that cannot be made is asked for again after a pause")
    func failure() {
        var state = ProviderTokenState()
        state.failed(.credentialsRefused, now: .zero)
        #expect(admit(&state, minute: 0) == .held(.credentialsRefused, delay: .seconds(5)))
        #expect(admit(&state, minute: 1) == .needsToken)
    }

    @Test("that changed too often is kept, and its key held at once")
    func changedTooOften() {
        var state = ProviderTokenState()
        let token = IssuedToken(value: mint(&state, minute: 0), generation: 1)
        #expect(state.refused(.tooManyProviderTokenUpdates, generation: 1, now: .zero) == .wait(opensCircuit: true))
        #expect(state.isHeld)
        #expect(admit(&state, minute: 0) == .held(.tooManyProviderTokenUpdates, delay: .seconds(60)))
        #expect(admit(&state, minute: 1) == .needsToken)
        state.failed(.credentialsRefused, now: .seconds(60))
        // The vault is away: the token that is there has to do.
        #expect(admit(&state, minute: 1) == .probe(token))
        #expect(accept(&state, 1) && !state.isHeld)
        #expect(admit(&state, minute: 1) == .use(token, renewalIsDue: false))
    }

    @Test("that the vault keeps after a step of the clock is used on: nobody has refused it")
    func keptAfterClockStep() {
        var state = ProviderTokenState()
        let first = IssuedToken(value: mint(&state, minute: 0), generation: 1)
        #expect(admit(&state, minute: 6, step: 7_200) == .needsToken)
        state.adopt(first.value, now: .seconds(360), wallSeconds: 1_700_000_360 + 7_200)
        #expect(admit(&state, minute: 6, step: 7_200) == .use(first, renewalIsDue: false))
    }
}
