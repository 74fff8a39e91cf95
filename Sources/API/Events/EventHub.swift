import Gateway
import HTTP
package import Observability

/// Feeds all streams of events of a process.
///
/// All streams that show one notification share a ticker: one query a tick, and one text. A stream that cannot take a text in time
/// gets the next one instead.
package actor EventHub {
    /// What a stream shows, to whom.
    struct Subscription: Sendable {
        let notification: UUID
        let application: ApplicationID
        /// Of the key that asked; the stream ends when it is revoked.
        let keyDigest: [UInt8]
        /// The last event the client has; nil for none.
        let lastEventID: String?
        /// Where the ticker looks; of the streams of one notification, the first one's is used.
        let reader: any NotificationReader
        let directory: any PrincipalDirectory
    }

    /// Why there is no stream.
    enum SubscriptionFailure: Error, Equatable {
        case tooManyOfApplication
        case tooMany
    }

    private struct Topic: Hashable {
        let application: ApplicationID
        let notification: UUID
    }

    private struct Listener {
        let stream: HTTPBodyStream
        let keyDigest: [UInt8]
        var lastEventID: String?
        var ageTickCount = 0
        var quietTickCount = 0
    }

    private struct Watch {
        let reader: any NotificationReader
        let directory: any PrincipalDirectory
        var listeners: [Int: Listener] = [:]
        var tickCount = 0
    }

    private let executor: any SerialExecutor
    private let limits: EventLimits
    private let sleep: @Sendable (Duration) async -> Void
    private let openStreams: Gauge
    private let looks: Counter

    private var watches: [Topic: Watch] = [:]
    private var streamCounts: [ApplicationID: Int] = [:]
    private(set) var streamCount = 0
    /// Notifications that are looked at.
    var tickerCount: Int { watches.count }
    private var lastNumber = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - executor: the event loop the tickers run on.
    ///   - sleep: returns after that time.
    package init(
        executor: any SerialExecutor, limits: EventLimits = EventLimits(), metrics: Metrics,
        sleep: @escaping @Sendable (Duration) async -> Void
    ) {
        self.executor = executor
        self.limits = limits
        self.sleep = sleep
        openStreams = metrics.gauge("openpush_event_streams", help: "Open streams of events.")
        looks = metrics.counter(
            "openpush_event_looks_total", help: "Queries for streams of events: one a tick and notification.")
    }

    // MARK: Streams

    /// Begins a stream.
    func subscribe(_ subscription: Subscription) throws(SubscriptionFailure) -> HTTPBodyStream {
        let application = subscription.application
        guard streamCount < limits.streamCount else { throw .tooMany }
        guard streamCounts[application, default: 0] < limits.streamsOfApplicationCount else { throw .tooManyOfApplication }
        streamCount += 1
        streamCounts[application, default: 0] += 1
        openStreams.add(1)
        lastNumber += 1
        let number = lastNumber
        let topic = Topic(application: application, notification: subscription.notification)
        let stream = HTTPBodyStream { Task { await self.remove(number, of: topic) } }
        let listener = Listener(stream: stream, keyDigest: subscription.keyDigest, lastEventID: subscription.lastEventID)
        if watches[topic] == nil {
            watches[topic] = Watch(reader: subscription.reader, directory: subscription.directory)
            Task { await run(topic) }
        }
        watches[topic]?.listeners[number] = listener
        return stream
    }

    private func remove(_ number: Int, of topic: Topic) {
        // It stays among the streams that count until its connection has let go of it, ended or not.
        streamCount -= 1
        openStreams.add(-1)
        streamCounts[topic.application, default: 0] -= 1
        if streamCounts[topic.application] == 0 { streamCounts[topic.application] = nil }
        watches[topic]?.listeners[number] = nil
    }

    // MARK: Ticks

    /// Looks at a notification as long as somebody listens.
    private func run(_ topic: Topic) async {
        while true {
            await sleep(limits.tick)
            guard let watch = watches[topic], !watch.listeners.isEmpty else { break }
            looks.add()
            do throws(StorageError) {
                let summary = try await watch.reader.notification(topic.notification, application: topic.application)
                // What is not there any more ends without a word.
                publish(summary.map { ServerSentEvent(totals: $0) }, isLast: summary.map { $0.state == .finished } ?? true, topic)
                try await lookAtKeys(topic)
            } catch {
                // While the database is away clients keep what they have. What it refuses it will refuse again: they are told when
                // they come back.
                if error != .unavailable { publish(nil, isLast: true, topic) }
            }
            passTick(topic)
        }
        watches[topic] = nil
    }

    /// Offers an event to everybody who does not have it.
    private func publish(_ event: ServerSentEvent?, isLast: Bool, _ topic: Topic) {
        guard var watch = watches[topic] else { return }
        defer { watches[topic] = watch }
        for (number, listener) in watch.listeners {
            if isLast {
                listener.stream.finish(event?.bytes ?? [])
                watch.listeners[number] = nil
            } else if let event, event.id != listener.lastEventID {
                listener.stream.offer(event.bytes)
                watch.listeners[number]?.lastEventID = event.id
                watch.listeners[number]?.quietTickCount = 0
            }
        }
    }

    /// Ends the streams whose key has been revoked; each key is looked at once for all its streams.
    private func lookAtKeys(_ topic: Topic) async throws(StorageError) {
        guard let watch = watches[topic], (watch.tickCount + 1).isMultiple(of: limits.keyLookTickCount) else { return }
        for digest in Set(watch.listeners.values.map(\.keyDigest)) {
            guard try await watch.directory.principal(forKeyDigest: digest) == nil else { continue }
            let listeners = watches[topic]?.listeners.filter { $0.value.keyDigest == digest } ?? [:]
            for (number, listener) in listeners {
                listener.stream.finish()
                watches[topic]?.listeners[number] = nil
            }
        }
    }

    /// Shows life where nothing else did, and ends what is too old.
    private func passTick(_ topic: Topic) {
        guard var watch = watches[topic] else { return }
        defer { watches[topic] = watch }
        watch.tickCount += 1
        for (number, var listener) in watch.listeners {
            listener.ageTickCount += 1
            listener.quietTickCount += 1
            if listener.quietTickCount >= limits.heartbeatTickCount {
                listener.stream.offerIfIdle(ServerSentEvent.comment)
                listener.quietTickCount = 0
            }
            let isTooOld = listener.ageTickCount >= limits.longestTickCount
            if isTooOld { listener.stream.finish() }
            watch.listeners[number] = isTooOld ? nil : listener
        }
    }
}
