import CNGHTTP2

/// One request in progress.
struct ClientStream {
    /// Stands for a head that libnghttp2 has not written yet.
    static let headNotWritten = UInt64.max

    /// Keeps the memory of the fields and bodies alive until the stream is closed; nil when the slot is free.
    var template: HTTP2RequestTemplate?
    var streamID: Int32 = 0
    /// Which body of the template.
    var bodyIndex: Int = 0
    /// How many bytes of it libnghttp2 asked for, and how many are in the output.
    var readByteCount = 0
    var writtenByteCount = 0
    /// Bytes produced by the session before this request's head.
    var headOffset = ClientStream.headNotWritten
    var status = 0
    /// Which element of `answers`; nil until an answer other than 200 arrives.
    var answer: Int?
}

/// Everything the callbacks of a client session work on.
///
/// It lives behind one pointer, which is libnghttp2's user data: callbacks then cost neither reference counting nor
/// exclusivity checks.
struct ClientSessionState {
    /// Bytes libnghttp2 produced and nobody took yet.
    var output: [UInt8] = []
    /// All bytes that were taken so far.
    var takenByteCount: UInt64 = 0
    /// DATA frames wait while `output` holds this many bytes.
    let outputByteLimit: Int
    var slots: [ClientStream] = []
    var freeSlots: [Int] = []
    /// Body bytes of open requests that are not in the output yet; a peer with a small window makes them wait.
    var waitingBodyByteCount = 0
    var closed: [HTTP2ClosedStream] = []
    var answers: [HTTP2ErrorAnswer] = []
    var freeAnswers: [Int] = []
    /// Answers that `closed` mentions; free again when the events are cleared.
    var reportedAnswers: [Int] = []
    var goAway: HTTP2GoAway?
    var hasSettings = false
    var pingAnswerCount = 0

    init(slotCount: Int, outputByteLimit: Int) {
        self.outputByteLimit = outputByteLimit
        slots = Array(repeating: ClientStream(), count: slotCount)
        freeSlots = Array((0..<slotCount).reversed())
        closed.reserveCapacity(slotCount)
        // One HEADERS frame more than the limit always fits without growing.
        output.reserveCapacity(outputByteLimit + 32 * 1024)
    }

    var producedByteCount: UInt64 { takenByteCount + UInt64(output.count) }

    /// Reports a stream. Its slot stays taken until the report is cleared, so that the report names one request only.
    mutating func close(slot: Int, errorCode: UInt32) {
        let stream = slots[slot]
        guard let template = stream.template else { return }
        waitingBodyByteCount -= template.bodies[stream.bodyIndex].count - stream.writtenByteCount
        let mayHaveLeft = stream.headOffset < takenByteCount
        closed.append(
            HTTP2ClosedStream(
                slot: slot, status: stream.status, errorCode: errorCode, mayHaveLeft: mayHaveLeft, answer: stream.answer))
        if let answer = stream.answer { reportedAnswers.append(answer) }
        slots[slot] = ClientStream()
    }

    /// Forgets what was reported and frees the slots.
    mutating func clearEvents() {
        for stream in closed { freeSlots.append(stream.slot) }
        closed.removeAll(keepingCapacity: true)
        freeAnswers.append(contentsOf: reportedAnswers)
        reportedAnswers.removeAll(keepingCapacity: true)
    }

    /// The answer of a stream, made on first use.
    mutating func answer(of slot: Int) -> Int {
        if let known = slots[slot].answer { return known }
        let index: Int
        if let free = freeAnswers.popLast() {
            index = free
            answers[index].removeAll()
        } else {
            index = answers.count
            answers.append(HTTP2ErrorAnswer())
        }
        slots[slot].answer = index
        return index
    }
}
