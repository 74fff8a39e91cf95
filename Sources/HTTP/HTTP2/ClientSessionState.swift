import CNGHTTP2

/// One request in progress: plain bits, so that callbacks read, write and clear it without reference counting.
@safe struct ClientStream {
    /// Stands for "none" in `template` and `answer`.
    static let none = Int32(-1)

    /// Which element of `templates`; it keeps the body's memory alive. `none` when the slot is free.
    var template = ClientStream.none
    var streamID: Int32 = 0
    /// The body, in the template's memory.
    var body: UnsafePointer<UInt8>?
    var bodyByteCount = 0
    /// How many bytes of it libnghttp2 asked for, and how many are in the output.
    var readByteCount = 0
    var writtenByteCount = 0
    /// Bytes produced by the session before this request's head; the greatest number while it is not written.
    var headOffset = UInt64.max
    /// 0 until an answer arrives.
    var status = 0
    /// Which element of `answers`; `none` until an answer other than 200 arrives.
    var answer = ClientStream.none
}

/// Everything the callbacks of a client session work on.
///
/// It lives behind one pointer, which is libnghttp2's user data: callbacks then cost neither reference counting nor
/// exclusivity checks.
@safe struct ClientSessionState: ~Copyable {
    /// A template and how many open requests use it.
    struct TemplateUse {
        var template: HTTP2RequestTemplate?
        var openCount = 0
    }

    /// Bytes libnghttp2 produced and nobody took yet.
    var output: FrameOutput
    /// All bytes that were taken so far.
    var takenByteCount: UInt64 = 0
    /// DATA frames wait while `output` holds this many bytes.
    let outputByteLimit: Int
    /// By slot. Slots come from `freeSlots` only, which is what keeps indexes in bounds.
    let slots: UnsafeMutableBufferPointer<ClientStream>
    var freeSlots: [Int32]
    /// Templates in use; as many as differ among the open requests.
    var templates: [TemplateUse] = []
    /// The template of the latest request, which is most likely that of the next.
    var recentTemplate = 0
    /// The stream of the latest callback: the callbacks of one answer come one after the other.
    var recentStreamID: Int32 = 0
    var recentSlot = 0
    /// Body bytes of open requests that are not in the output yet; a peer with a small window makes them wait.
    var waitingBodyByteCount = 0
    var closed: [HTTP2ClosedStream] = []
    var answers: [HTTP2ErrorAnswer] = []
    var freeAnswers: [Int32] = []
    /// Answers that `closed` mentions; free again when the events are cleared.
    var reportedAnswers: [Int32] = []
    var goAway: HTTP2GoAway?
    var hasSettings = false
    var pingAnswerCount = 0

    init(slotCount: Int, outputByteLimit: Int) {
        self.outputByteLimit = outputByteLimit
        unsafe slots = .allocate(capacity: slotCount)
        unsafe slots.initialize(repeating: ClientStream())
        freeSlots = (0..<Int32(slotCount)).reversed()
        closed.reserveCapacity(slotCount)
        // What one request adds beyond the limit fits without growing.
        output = FrameOutput(capacity: outputByteLimit + 32 * 1024)
    }

    deinit { unsafe slots.deallocate() }

    var producedByteCount: UInt64 { takenByteCount + UInt64(output.count) }

    /// Where the template is among those in use; it is added when it is not.
    mutating func index(of template: HTTP2RequestTemplate) -> Int {
        if recentTemplate < templates.count, templates[recentTemplate].template === template { return recentTemplate }
        if let known = templates.firstIndex(where: { $0.template === template }) {
            recentTemplate = known
        } else if let free = templates.firstIndex(where: { $0.template == nil }) {
            templates[free].template = template
            recentTemplate = free
        } else {
            templates.append(TemplateUse(template: template))
            recentTemplate = templates.count - 1
        }
        return recentTemplate
    }

    /// Frees a slot and lets go of its template when no other request uses it.
    mutating func clear(slot: Int) {
        let use = unsafe Int(slots[slot].template)
        templates[use].openCount -= 1
        // The latest one stays: the next request has most likely the same.
        if templates[use].openCount == 0, use != recentTemplate { templates[use].template = nil }
        unsafe slots[slot] = ClientStream()
    }

    /// Reports a stream. Its slot stays taken until the report is cleared, so that the report names one request only.
    mutating func close(slot: Int, errorCode: UInt32) {
        let stream = unsafe slots[slot]
        guard stream.template != ClientStream.none else { return }
        waitingBodyByteCount -= stream.bodyByteCount - stream.writtenByteCount
        closed.append(
            HTTP2ClosedStream(
                slot: slot, status: stream.status, errorCode: errorCode, mayHaveLeft: stream.headOffset < takenByteCount,
                answer: stream.answer == ClientStream.none ? nil : Int(stream.answer)))
        if stream.answer != ClientStream.none { reportedAnswers.append(stream.answer) }
        clear(slot: slot)
        if stream.streamID == recentStreamID { recentStreamID = 0 }
    }

    /// Forgets what was reported and frees the slots.
    mutating func clearEvents() {
        for stream in closed { freeSlots.append(Int32(stream.slot)) }
        closed.removeAll(keepingCapacity: true)
        freeAnswers.append(contentsOf: reportedAnswers)
        reportedAnswers.removeAll(keepingCapacity: true)
    }

    /// The answer of a stream, made on first use.
    mutating func answer(of slot: Int) -> Int {
        let known = unsafe slots[slot].answer
        guard known == ClientStream.none else { return Int(known) }
        let index: Int
        if let free = freeAnswers.popLast() {
            index = Int(free)
            answers[index].removeAll()
        } else {
            index = answers.count
            answers.append(HTTP2ErrorAnswer())
        }
        unsafe slots[slot].answer = Int32(index)
        return index
    }
}
