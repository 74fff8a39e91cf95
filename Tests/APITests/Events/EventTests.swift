import Gateway
import Observability
import Synchronization
import Testing

@testable import API
@testable import HTTP

@Suite("Events of a notification", .timeLimit(.minutes(1))) final class EventTests: Sendable {
    private static let path = "/v1/notifications/\(TestAPI.identifier)/events"
    private let api = TestAPI(eventLimits: EventTests.limits)
    private let streams = Mutex<[HTTPBodyStream]>([])

    deinit {
        for stream in streams.withLock({ $0 }) { stream.release() }
        api.ticks.end()
    }

    private static var limits: EventLimits {
        var limits = EventLimits()
        limits.heartbeatTickCount = 3
        limits.keyLookTickCount = 4
        limits.longestTickCount = 6
        limits.streamsOfApplicationCount = 3
        limits.streamCount = 4
        return limits
    }

    private func set(accepted: Int64, isFinished: Bool = false) {
        api.ports.with {
            $0.summary = NotificationSummary(
                number: FakePorts.accepted.id, publicID: FakePorts.accepted.publicID, event: .update, activityID: "match-1",
                activityType: "Game",
                name: "goal", state: isFinished ? .finished : .sending, targetedCount: 10, acceptedCount: accepted,
                failedCount: 0, unknownCount: 0, reasons: [], clickCount: 0, clickedDeviceCount: 0,
                createdAt: UnixMilliseconds(rawValue: 1_772_323_199_007),
                finishedAt: isFinished ? UnixMilliseconds(rawValue: 1_772_323_200_000) : nil)
        }
    }

    private func open(lastEventID: String? = nil, key: KeyKind = .read) async -> HTTPResponse {
        var headers: HTTPHeaders = ["authorization": "Key \(FakePorts.keys[key] ?? "")"]
        headers["last-event-id"] = lastEventID
        let response = await api.handler.respond(to: HTTPRequest(method: "GET", target: Self.path, headers: headers))
        if let stream = response.stream { streams.withLock { $0.append(stream) } }
        return response
    }

    /// A stream that is open.
    private func stream(_ response: HTTPResponse) throws -> HTTPBodyStream { try #require(response.stream, "\(response.text)") }

    private func text(_ stream: HTTPBodyStream) -> String? { stream.take().map { String(decoding: $0.bytes, as: UTF8.self) } }

    private func event(_ text: String, _ field: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix("\(field): ") }.map { String($0.dropFirst(field.count + 2)) }
    }

    private var lookCount: Int { api.ports.with { $0.looks } }

    @Test("begins with the totals in the shape of the notification's own route, and how long to wait before coming back")
    func begins() async throws {
        set(accepted: 1)
        let response = await open()
        let totals = await api.send("GET", "/v1/notifications/\(TestAPI.identifier)", key: .read).text
        #expect(response.status == 200)
        #expect(response.headers["content-type"] == "text/event-stream")
        #expect(response.headers["cache-control"] == "no-store")
        #expect(response.text.hasPrefix("retry: 2000\n\nevent: totals\nid: "))
        #expect(response.text.hasSuffix("\n\n"))
        #expect(event(response.text, "data") == totals)
        _ = try stream(response)
    }

    @Test("tells changes as they come, the end with its own event, and ends") func tells() async throws {
        set(accepted: 1)
        let stream = try stream(await open())
        await api.ticks.pass()
        #expect(text(stream) == nil)
        set(accepted: 2)
        await api.ticks.pass()
        let change = try #require(text(stream))
        #expect(change.hasPrefix("event: totals\nid: ") && change.contains(#""accepted":2,"#))
        set(accepted: 10, isFinished: true)
        await api.ticks.pass()
        let end = try #require(stream.take())
        #expect(end.isLast)
        #expect(String(decoding: end.bytes, as: UTF8.self).hasPrefix("event: finished\nid: "))
    }

    @Test("asks once a tick, however many dashboards look") func oneQuery() async throws {
        set(accepted: 1)
        let streams = [try stream(await open()), try stream(await open()), try stream(await open(key: .rest))]
        #expect(lookCount == 3)
        for tick in 1...3 {
            set(accepted: 1 + Int64(tick))
            await api.ticks.pass()
            #expect(lookCount == 3 + tick)
        }
        for stream in streams {
            #expect(text(stream)?.contains(#""accepted":4,"#) == true)
        }
        #expect(api.metrics.prometheusText().contains(Array("openpush_event_looks_total 3\n".utf8)))
    }

    @Test("shows that it is alive when nothing changes") func heartbeat() async throws {
        set(accepted: 1)
        let stream = try stream(await open())
        for _ in 1...2 { await api.ticks.pass() }
        #expect(text(stream) == nil)
        await api.ticks.pass()
        #expect(text(stream) == ":\n\n")
    }

    @Test("goes on where the client was: what it has is not told again") func goesOn() async throws {
        set(accepted: 1)
        let first = await open()
        _ = try stream(first)
        let id = try #require(event(first.text, "id"))
        let again = await open(lastEventID: id)
        #expect(again.text == "retry: 2000\n\n")
        _ = try stream(again)
        set(accepted: 2)
        let later = await open(lastEventID: id)
        #expect(later.text.contains(#""accepted":2,"#))
        _ = try stream(later)
    }

    @Test("is whole when the fan-out has finished, and tells a client that knows it to stay away") func finished() async {
        set(accepted: 10, isFinished: true)
        let response = await open()
        #expect(response.stream == nil)
        #expect(response.text.hasPrefix("retry: 2000\n\nevent: finished\nid: "))
        let again = await open(lastEventID: event(response.text, "id"))
        #expect(again.status == 204 && again.stream == nil && again.body.isEmpty)
    }

    @Test("goes on for a client that saw the end, once a late joiner has opened the fan-out again, to an end with other totals")
    func opensAgain() async throws {
        set(accepted: 9, isFinished: true)
        let first = try #require(event(await open().text, "id"))
        set(accepted: 9)
        let reopened = await open(lastEventID: first)
        #expect(reopened.text.contains("event: totals\n"))
        let stream = try stream(reopened)
        set(accepted: 10, isFinished: true)
        await api.ticks.pass()
        #expect(text(stream)?.contains(#""accepted":10,"#) == true)
        // One that slept through it is told as well.
        let slept = await open(lastEventID: first)
        #expect(slept.status == 200 && slept.stream == nil && slept.text.contains(#""accepted":10,"#))
        let last = try #require(event(slept.text, "id"))
        #expect(last != first)
        #expect(await open(lastEventID: last).status == 204)
        #expect(await open(lastEventID: "finished").status == 200)
    }

    @Test("ends when it has lasted long enough") func longest() async throws {
        set(accepted: 1)
        let stream = try stream(await open())
        for _ in 1...5 { await api.ticks.pass() }
        #expect(stream.take()?.isLast == false)
        await api.ticks.pass()
        #expect(stream.take()?.isLast == true)
    }

    @Test("ends at the next look after its key was revoked, and others go on") func revoked() async throws {
        set(accepted: 1)
        let revoked = try stream(await open(key: .read))
        let other = try stream(await open(key: .rest))
        api.ports.with { $0.revoked = [.read] }
        for _ in 1...3 { await api.ticks.pass() }
        #expect(revoked.take()?.isLast == false)
        _ = other.take()
        await api.ticks.pass()
        #expect(revoked.take()?.isLast == true)
        #expect(other.take() == nil)
    }

    @Test("outlives a database that is away, and ends when the notification is gone", arguments: [false, true])
    func storage(isRefused: Bool) async throws {
        set(accepted: 1)
        let stream = try stream(await open())
        api.ports.with { $0.failure = isRefused ? .refused(sqlState: "42703") : .unavailable }
        await api.ticks.pass()
        #expect(stream.take()?.isLast == (isRefused ? true : nil))
        if !isRefused {
            api.ports.with { ($0.failure, $0.summary) = (nil, nil) }
            await api.ticks.pass()
            #expect(stream.take()?.isLast == true)
        }
    }

    @Test("is refused beyond the bound of the app, until one ends") func bounds() async throws {
        set(accepted: 1)
        var open: [HTTPBodyStream] = []
        for _ in 1...3 { open.append(try stream(await self.open())) }
        let refused = await self.open()
        #expect(refused.status == 429)
        #expect(refused.headers["retry-after"] == "5")
        #expect(refused.text.hasPrefix(#"{"detail":"Too many streams of events of this app"#))
        open.removeLast().release()
        // The place is free once the hub has heard of it; each attempt is a round trip on its loop.
        var response = await self.open()
        while response.status == 429 { response = await self.open() }
        #expect(response.status == 200)
    }

    @Test("is refused beyond the bound of the process") func processBound() async throws {
        let hub = EventHub(
            executor: TestAPI.loop, limits: Self.limits, metrics: Metrics(), sleep: { [api] _ in await api.ticks.sleep() })
        func subscribe(_ app: Int32) async throws(EventHub.SubscriptionFailure) {
            let stream = try await hub.subscribe(
                EventHub.Subscription(
                    notification: FakePorts.accepted.publicID, application: ApplicationID(rawValue: app), keyDigest: [],
                    lastEventID: nil, reader: api.ports, directory: api.ports))
            streams.withLock { $0.append(stream) }
        }
        for app in 1...4 { try await subscribe(Int32(app)) }
        await #expect(throws: EventHub.SubscriptionFailure.tooMany) { try await subscribe(5) }
    }

    @Test("needs a key that may read, a notification of the app, and no parameters") func refuses() async {
        set(accepted: 1)
        #expect(await api.send("GET", Self.path, key: nil).status == 401)
        #expect(await api.send("GET", Self.path, key: .client).status == 403)
        #expect(await api.send("GET", "\(Self.path)?since=1", key: .read).status == 400)
        api.ports.with { $0.summary = nil }
        #expect(await api.send("GET", Self.path, key: .read).status == 404)
        #expect(await api.send("GET", "/v1/notifications/x/events", key: .read).status == 404)
    }

    @Test("stops asking when nobody looks") func stopsAsking() async throws {
        set(accepted: 1)
        let stream = try stream(await open())
        await api.ticks.pass()
        stream.release()
        while await api.events.streamCount > 0 {}
        let before = lookCount
        await api.ticks.begin()
        while await api.events.tickerCount > 0 {}
        #expect(lookCount == before)
    }
}
