import Gateway
import Testing

@testable import FCM

@Suite("Access token's life") struct AccessTokenStateTests {
    /// A state with a token that lasts an hour from moment 0, at wall second 1,000,000.
    private func fresh() -> AccessTokenState {
        var state = AccessTokenState()
        state.adopt(AccessToken(token: "one", expiresAt: 1_003_600), now: .zero, wallSeconds: 1_000_000)
        return state
    }

    @Test("needs a token at first")
    func first() { #expect(AccessTokenState().admit(now: .zero) == .needsToken) }

    @Test("is renewed five minutes before its end, used meanwhile, and not used at the very end")
    func renewal() {
        let state = fresh()
        #expect(state.admit(now: .seconds(3299)) == .use(state.current!, renewalIsDue: false))
        #expect(state.admit(now: .seconds(3300)) == .use(state.current!, renewalIsDue: true))
        #expect(state.admit(now: .seconds(3584)) == .use(state.current!, renewalIsDue: true))
        #expect(state.admit(now: .seconds(3585)) == .needsToken)
    }

    @Test("is not renewed at once, and again, when it lives for less than the margin")
    func shortLived() {
        var state = AccessTokenState()
        state.adopt(AccessToken(token: "one", expiresAt: 1_000_200), now: .zero, wallSeconds: 1_000_000)
        #expect(state.admit(now: .seconds(59)) == .use(state.current!, renewalIsDue: false))
        #expect(state.admit(now: .seconds(60)) == .use(state.current!, renewalIsDue: true))
    }

    @Test("goes on being used when it cannot be renewed, without asking again at once")
    func failedRenewal() {
        var state = fresh()
        state.failed(.connectionFailed, now: .seconds(3300))
        #expect(state.admit(now: .seconds(3304)) == .use(state.current!, renewalIsDue: false))
        #expect(state.admit(now: .seconds(3305)) == .use(state.current!, renewalIsDue: true))
    }

    @Test("holds back with growing pauses while none can be had, up to five minutes")
    func pauses() {
        var state = AccessTokenState()
        var now = Duration.zero
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
            state.failed(.credentialsRefused, now: now)
            #expect(state.admit(now: now) == .held(.credentialsRefused, delay: .seconds(seconds)))
            now += .seconds(seconds)
            #expect(state.admit(now: now) == .needsToken)
        }
        state.adopt(AccessToken(token: "one", expiresAt: 3600), now: now, wallSeconds: 0)
        state.failed(.credentialsRefused, now: .zero)
        #expect(state.refused(generation: 1, now: now) == .resend)
        #expect(state.admit(now: .zero) == .held(.credentialsRefused, delay: .seconds(5)), "a success ends the growth")
    }

    @Test("is replaced once it is refused, and its refusal by another push changes nothing more")
    func refusal() {
        var state = fresh()
        let old = state.current!
        #expect(state.refused(generation: 1, now: .seconds(10)) == .resend)
        #expect(state.refused(generation: 1, now: .seconds(10)) == .resend)
        #expect(state.refusedToken == old.value)
        #expect(state.admit(now: .seconds(10)) == .needsToken)
        #expect(!state.isFresh(old.value, now: .seconds(10), wallSeconds: 1_000_010))
        state.adopt(AccessToken(token: "two", expiresAt: 1_003_700), now: .seconds(11), wallSeconds: 1_000_011)
        #expect(state.refusedToken == nil)
        #expect(state.refused(generation: 1, now: .seconds(12)) == .resend, "an answer to the old one comes late")
        #expect(state.admit(now: .seconds(12)) == .use(state.current!, renewalIsDue: false))
    }

    @Test("is not replaced again within a minute: pushes wait")
    func refusedAgain() {
        var state = fresh()
        #expect(state.refused(generation: 1, now: .seconds(10)) == .resend)
        state.adopt(AccessToken(token: "two", expiresAt: 1_003_700), now: .seconds(11), wallSeconds: 1_000_011)
        #expect(state.refused(generation: 2, now: .seconds(20)) == .wait)
        #expect(state.refused(generation: 2, now: .seconds(21)) == .wait)
        #expect(state.admit(now: .seconds(30)) == .held(.fcmUnauthenticated, delay: .seconds(40)))
        #expect(state.admit(now: .seconds(70)) == .needsToken)
    }

    @Test("that Google gives again after its refusal is asked for once a minute at most, and tried again")
    func givenAgain() {
        var state = fresh()
        let token = state.current!
        for minute in 0...2 as ClosedRange<Int> {
            let refusedAt = Duration.seconds(10 + 60 * minute)
            #expect(state.refused(generation: 1, now: refusedAt) == .resend)
            #expect(state.admit(now: refusedAt) == .needsToken)
            state.adopt(token.value, now: refusedAt + .seconds(1), wallSeconds: 1_000_011 + 60 * Int64(minute))
            #expect(state.current == token)
            #expect(state.admit(now: refusedAt + .seconds(1)) == .held(.fcmUnauthenticated, delay: .seconds(59)))
            #expect(state.admit(now: refusedAt + .seconds(60)) == .use(token, renewalIsDue: false))
        }
    }

    @Test("takes another daemon's token when it lasts long enough")
    func shared() {
        let state = fresh()
        #expect(state.isFresh(AccessToken(token: "x", expiresAt: 1_000_301), now: .zero, wallSeconds: 1_000_000))
        #expect(!state.isFresh(AccessToken(token: "x", expiresAt: 1_000_300), now: .zero, wallSeconds: 1_000_000))
    }

    @Test("keeps its end when the wall clock steps")
    func clockStep() {
        let state = fresh()
        #expect(state.isFresh(state.current!.value, now: .seconds(60), wallSeconds: 9_000_000))
        #expect(!state.isFresh(state.current!.value, now: .seconds(3300), wallSeconds: 1_000_000))
    }
}
