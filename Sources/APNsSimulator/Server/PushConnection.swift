import HTTP
import Networking
import Security

/// One connection of a sender: reads its pushes, has them judged, and answers or misbehaves as scripted.
actor PushConnection: ReadinessHandler {
    /// Bytes taken from the socket, and from the session, at a time.
    static let chunkByteCount = 64 * 1024
    /// Bytes that may wait for the socket before no more output is made.
    static let unsentByteCountLimit = 1 << 20
    /// How long a sender may take to close after everything was said.
    static let leavingTime: Duration = .seconds(2)
    /// Largest body read, in bytes; Apple's limits are far below, and refused by the judge.
    static let bodyByteCountLimit = 1 << 20

    nonisolated let number: Int
    private let kind: PortKind
    let environment: PushEnvironment
    let core: SimulatorCore
    let loop: EventLoop
    let stream: SocketStream
    let session: HTTP2ServerSession
    /// nil: speaks as it should. Otherwise the connection is kept and ignored.
    private let ignoresHandshake: Bool
    private let judge: Judge
    private let channelJudge: ChannelJudge
    var binding = ConnectionBinding()
    /// Streams that have no answer yet.
    var pending: [Int32: PendingAnswer] = [:]
    /// Streams that wait for a release, oldest first.
    var held: [Int32] = []
    /// Streams whose answer is due, by the millisecond since `startedAt`.
    var due: [Int64: [Int32]] = [:]
    let startedAt = ContinuousClock.now
    /// Highest stream that is still answered: lowered by GOAWAY.
    var lastAnsweredStream = Int32.max
    var highestStream: Int32 = 0
    var closesWhenFlushed = false
    /// Whether everything is said, and only the sender's end is awaited.
    private var isLeaving = false
    /// Whether a script keeps the connection from reading.
    private var isStalled = false
    private var isOpen = false
    private var isFinished = false
    private var input: [UInt8] = []
    private var output: [UInt8] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// - Parameter effect: what the rules for connections want of this one.
    init(
        accepted descriptor: consuming FileDescriptor, number: Int, kind: PortKind, environment: PushEnvironment, loop: EventLoop,
        core: SimulatorCore, effect: Rule.Effect?
    ) throws {
        self.number = number
        self.kind = kind
        self.environment = environment
        self.loop = loop
        self.core = core
        judge = Judge(environment: environment, keys: core.keys, devices: core.devices)
        channelJudge = ChannelJudge(environment: environment, keys: core.keys, channels: core.channels)
        ignoresHandshake = effect?.ignoresHandshake ?? false
        let context = effect?.showsForeignCertificate == true ? core.foreignTLS : core.tls
        var limits = HTTP2ServerLimits()
        limits.bodyByteCount = PushConnection.bodyByteCountLimit
        limits.streamResets = .unlimited
        session = try HTTP2ServerSession(
            settings: PushConnection.firstSettings(core.settings, changedBy: effect?.settings ?? []), limits: limits)
        stream = SocketStream(accepted: descriptor, loop: loop, tls: try TLSSession(server: context))
    }

    /// The SETTINGS frame of Apple's servers, with what a script changes.
    static func firstSettings(_ settings: SimulatorSettings, changedBy changes: [HTTP2Setting]) -> [HTTP2Setting] {
        let first: [HTTP2Setting] = [
            .headerTableSize(4096), .maxConcurrentStreams(settings.initialConcurrentStreams), .initialWindowSize(65_535),
            .maxFrameSize(16_384), .maxHeaderListSize(8000),
        ]
        return first.filter { setting in !changes.contains { $0.identifier == setting.identifier } } + changes
    }

    /// Begins to listen to the socket. On the loop's thread.
    func activate() {
        core.add(self)
        attempt { try stream.activate(handler: self) }
    }

    nonisolated func ready(_ readiness: Readiness) {
        assumeIsolated { $0.process(readiness) }
    }

    private func process(_ readiness: Readiness) {
        if isFinished { return }
        if ignoresHandshake {
            // Nothing is read: what the peer sends stays in the kernel until it gives up.
            if readiness.contains(.closed) { finish() }
            return
        }
        attempt {
            guard try stream.process(readiness) else { return }
            if !isOpen { open() }
            let settings = core.settings
            while try readInput(settings) {}
            try flush()
        }
    }

    /// Runs something that can fail; a failure ends the connection.
    func attempt(_ action: () throws -> Void) {
        do { try action() } catch { finish() }
    }

    private func open() {
        isOpen = true
        core.log.count { tally in
            tally.connectionCount += 1
            tally.openConnectionCount += 1
        }
    }

    /// Reads once; false when nothing more can be read now.
    private func readInput(_ settings: SimulatorSettings) throws -> Bool {
        if isFinished || isStalled || closesWhenFlushed && !isLeaving { return false }
        input.removeAll(keepingCapacity: true)
        switch try stream.read(into: &input, limit: PushConnection.chunkByteCount) {
        case .bytes:
            guard !isLeaving else { return true }
            try session.receive(input.span)
            while let event = session.nextEvent() { try handle(event, settings) }
            return true
        case .wouldBlock: return false
        case .endOfStream:
            finish()
            return false
        }
    }

    private func handle(_ event: HTTP2ServerEvent, _ settings: SimulatorSettings) throws {
        switch event {
        case .request(let streamID, let request):
            try received(request, on: streamID, settings)
        case .rejected(_, let status):
            core.log.count { $0.answerCounts[status, default: 0] += 1 }
        case .reset(let streamID, let errorCode):
            guard let answer = pending.removeValue(forKey: streamID) else { return }
            let outcome = streamID <= lastAnsweredStream ? RecordedRequest.Outcome.cancelled(code: errorCode) : .unanswered
            core.log.settle(answer.requestNumber, outcome, replacing: answer.isSilent ? .unanswered : .pending)
        case .ping: core.log.count { $0.pingCount += 1 }
        case .finished, .goAway, .settingsAcknowledged, .pingAcknowledged: break
        }
    }

    private func received(_ request: HTTPRequest, on streamID: Int32, _ settings: SimulatorSettings) throws {
        if isFinished || closesWhenFlushed || streamID > lastAnsweredStream { return }
        highestStream = max(highestStream, streamID)
        let push = PushRequest(request)
        let channelRequest = ChannelRequest(request, port: kind)
        let now = core.now(settings)
        let wasAuthenticated = binding.isAuthenticated
        let verdict = judge(push, channelRequest, settings, now: now)
        let record = RecordedRequest(
            receivedAt: now, environment: environment, connection: number, streamID: streamID, token: verdict.token,
            operation: channelRequest?.operation, channelID: channelRequest?.channelID,
            providerToken: verdict.providerToken?.number, reading: verdict.reading,
            request: settings.recordsRequests ? request : nil)
        let requestNumber = core.log.append(record, openStreams: session.openStreamCount, settings: settings)
        if !wasAuthenticated, binding.isAuthenticated {
            try session.submit(settings: [.maxConcurrentStreams(settings.concurrentStreams)])
        }
        var effect: Rule.Effect?
        if verdict.reason == nil {
            effect = core.rules.effect(
                on: .request,
                RuleBook.Circumstances(
                    environment: environment, token: verdict.token, topic: push.topic, event: verdict.reading.event,
                    providerToken: verdict.providerToken?.number, operation: channelRequest?.operation))
        }
        var answer = binding.answer(effect?.answer ?? verdict.answer)
        if let channelRequest, answer.status < 300 {
            let performed = core.channels.perform(
                channelRequest, reading: verdict.reading, environment: environment, settings: settings, now: now)
            answer = effect?.answer ?? performed
        }
        pending[streamID] = PendingAnswer(
            requestNumber: requestNumber, answer: answer,
            messageID: verdict.reason == .badMessageID ? nil : channelRequest?.requestID ?? push.messageID, token: verdict.token,
            tokenIndex: verdict.tokenIndex, event: verdict.reading.event,
            channelID: verdict.reading.event == .start ? verdict.reading.channelID : nil,
            isOfChannels: channelRequest != nil || kind == .management)
        try self.answer(streamID, as: effect, settings)
    }

    private func judge(
        _ push: PushRequest, _ channelRequest: ChannelRequest?, _ settings: SimulatorSettings, now: Int64
    ) -> Verdict {
        if let channelRequest {
            return channelJudge.judge(channelRequest, binding: &binding, settings: settings, now: now)
        }
        guard kind == .push else { return Verdict(reason: .badPath) }
        return judge.judge(push, binding: &binding, settings: settings, now: now)
    }

    /// Sends what the session has to say, as far as the socket takes it.
    func flush() throws {
        while !isFinished, stream.unsentByteCount < PushConnection.unsentByteCountLimit {
            output.removeAll(keepingCapacity: true)
            let hasMore = try session.takeOutput(into: &output, limit: PushConnection.chunkByteCount)
            if !output.isEmpty { try stream.write(output.span, flushing: false) }
            if !hasMore { break }
        }
        if !isFinished { try stream.flush() }
        guard !isFinished, stream.unsentByteCount == 0 else { return }
        if closesWhenFlushed || session.isFinished { try leave() }
    }

    /// Ends the connection in order after the last answer: closed with requests unread, TCP would reset it, and answers that the system
    /// has not sent yet would be lost. What still comes is thrown away until the sender closes.
    private func leave() throws {
        guard !isLeaving else { return }
        isLeaving = true
        dropPending()
        try stream.shutdownWrite()
        loop.schedule(after: PushConnection.leavingTime) { self.assumeIsolated { $0.finish() } }
    }

    /// Reads nothing for some milliseconds, so that the sender's bytes pile up.
    func stall(for milliseconds: Int64) {
        isStalled = true
        stream.pauseReading()
        loop.schedule(after: .milliseconds(milliseconds)) { self.assumeIsolated { $0.resumeReading() } }
    }

    private func resumeReading() {
        guard isStalled, !isFinished else { return }
        isStalled = false
        stream.resumeReading()
        process(.readable)
    }

    /// Ends the connection and settles what is open on it.
    func finish() {
        if isFinished { return }
        isFinished = true
        stream.close()
        core.remove(self)
        dropPending()
        let wasOpen = isOpen
        core.log.count { tally in
            if wasOpen { tally.openConnectionCount -= 1 } else { tally.failedConnectionCount += 1 }
        }
    }

    /// Settles every stream that has no answer yet: it will not get one.
    private func dropPending() {
        for answer in pending.values where !answer.isSilent { core.log.settle(answer.requestNumber, .unanswered) }
        pending = [:]
        held = []
        due = [:]
    }
}
