import CNGHTTP2

/// What a client session may do; the peer's own limits come on top.
package struct HTTP2ClientLimits: Sendable {
    /// Most streams that are open at once, whatever the peer allows. APNs was seen to allow up to 1,500.
    package var streamCount = 1000
    /// Requests and DATA frames wait while this many bytes are not taken yet: four TLS records.
    package var outputByteCount = 64 * 1024
    /// Requests after which the session wants to be replaced; identifiers run out at 1,073,741,824.
    package var requestCount = 500_000_000
    /// The defaults.
    package init() {}
}

/// The client side of one HTTP/2 connection: bytes in, requests in, bytes out, ends of streams out.
///
/// It knows no socket. It allows one stream until the peer's first SETTINGS, obeys every later one and both flow-control
/// windows. Per request nothing is allocated by this class.
@safe package final class HTTP2ClientSession {
    private let handle: OpaquePointer
    private let state: UnsafeMutablePointer<ClientSessionState>
    /// Freed after the session, which lives in it.
    private let allocator = SessionMemory()
    private let limits: HTTP2ClientLimits
    private var submittedCount = 0

    /// A session whose preface and SETTINGS wait to be taken.
    package init(limits: HTTP2ClientLimits = HTTP2ClientLimits()) throws(HTTP2Error) {
        self.limits = limits
        let callbacks = unsafe try ClientSessionCallbacks.make()
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        var options: OpaquePointer?
        let optionsCode = unsafe nghttp2_option_new(&options)
        guard optionsCode == 0 else { throw HTTP2Error(code: optionsCode) }
        defer { unsafe nghttp2_option_del(options) }
        unsafe nghttp2_option_set_peer_max_concurrent_streams(options, 1)
        let memory = UnsafeMutablePointer<ClientSessionState>.allocate(capacity: 1)
        unsafe memory.initialize(
            to: ClientSessionState(slotCount: limits.streamCount, outputByteLimit: limits.outputByteCount))
        var session: OpaquePointer?
        var functions = unsafe allocator.functions
        let code = unsafe nghttp2_session_client_new3(&session, callbacks, memory, options, &functions)
        guard code == 0, let session = unsafe session else {
            unsafe memory.deinitialize(count: 1)
            unsafe memory.deallocate()
            throw HTTP2Error(code: code)
        }
        unsafe handle = session
        unsafe state = memory
        var push = nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
        let settingsCode = unsafe nghttp2_submit_settings(handle, 0, &push, 1)
        guard settingsCode == 0 else { throw HTTP2Error(code: settingsCode) }
    }

    deinit {
        unsafe nghttp2_session_del(handle)
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    // MARK: What the peer said

    /// Whether the peer's first SETTINGS arrived.
    package var hasPeerSettings: Bool { unsafe state.pointee.hasSettings }
    /// How many streams may be open now: the peer's limit, at most our own.
    package var streamLimit: Int {
        let peer = unsafe nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return min(Int(peer), limits.streamCount)
    }
    /// The peer's latest GOAWAY; nil when there was none.
    package var goAway: HTTP2GoAway? { unsafe state.pointee.goAway }
    /// How many PINGs were answered.
    package var pingAnswerCount: Int { unsafe state.pointee.pingAnswerCount }
    /// Whether neither side has anything left to say.
    package var isFinished: Bool {
        unsafe nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0
    }

    /// Takes bytes from the peer; what they meant shows in `closed`, `goAway` and the other properties.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        let code = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe nghttp2_session_mem_recv(handle, buffer.baseAddress, buffer.count)
        }
        guard code >= 0 else { throw HTTP2Error(code: Int32(code)) }
    }

    // MARK: Ends of streams

    /// How many streams ended since `clearEvents`.
    package var closedCount: Int { unsafe state.pointee.closed.count }
    /// One of them.
    package func closed(_ index: Int) -> HTTP2ClosedStream { unsafe state.pointee.closed[index] }
    /// What an answer other than 200 said; valid until `clearEvents`.
    package func answer(_ index: Int) -> HTTP2ErrorAnswer { unsafe state.pointee.answers[index] }
    /// Forgets the ends that were read and frees their slots.
    package func clearEvents() { unsafe state.pointee.clearEvents() }

    // MARK: Requests

    /// How many streams are open or ended without `clearEvents` since.
    package var openCount: Int { unsafe limits.streamCount - state.pointee.freeSlots.count }
    /// Whether so many requests were made that the connection should be replaced.
    package var isWornOut: Bool { submittedCount >= limits.requestCount }

    /// How many requests with a body of this size can be opened now, so that each body leaves at once.
    ///
    /// A body that does not fit the connection's window opens only when nothing else waits for the window.
    package func submittableCount(bodyByteCount: Int) -> Int {
        let free = streamLimit - openCount
        guard free > 0, !isWornOut, unsafe nghttp2_session_check_request_allowed(handle) != 0 else { return 0 }
        let waiting = unsafe state.pointee.waitingBodyByteCount
        let room = unsafe Int(nghttp2_session_get_remote_window_size(handle)) - waiting
        let fitting = max(room, 0) / max(bodyByteCount, 1)
        return min(free, waiting == 0 ? max(fitting, 1) : fitting)
    }

    /// Whether so much output waits to be taken that no request should be opened.
    package var isOutputFull: Bool { unsafe state.pointee.output.count >= limits.outputByteCount }

    /// Opens a request and writes it into the output as far as the windows allow; `submittableCount` allowed it.
    ///
    /// Written at once, request by request, what libnghttp2 keeps of a stream is still in the processor's cache.
    ///
    /// - Parameters:
    ///   - path: the value of `:path`; copied.
    ///   - identifier: the value of the template's identifier field; copied.
    ///   - body: which body of the template.
    /// - Returns: the slot that `closed` will name; nil when libnghttp2 cannot open another stream.
    package func submit(
        _ template: HTTP2RequestTemplate, path: Span<UInt8>, identifier: Span<UInt8>, body: Int
    ) throws(HTTP2Error) -> Int? {
        guard let slot = unsafe state.pointee.freeSlots.popLast().map(Int.init) else { return nil }
        let use = unsafe state.pointee.index(of: template)
        unsafe state.pointee.templates[use].openCount += 1
        let bytes = unsafe template.bodies[body]
        unsafe state.pointee.slots[slot].template = Int32(use)
        unsafe state.pointee.slots[slot].body = bytes.baseAddress
        unsafe state.pointee.slots[slot].bodyByteCount = bytes.count
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(fd: Int32(truncatingIfNeeded: slot)), read_callback: onReadBody)
        let streamID = unsafe nghttp2_submit_request(
            handle, nil, nil, 0, &provider, UnsafeMutableRawPointer(bitPattern: slot + 1))
        guard streamID > 0 else {
            unsafe state.pointee.clear(slot: slot)
            unsafe state.pointee.freeSlots.append(Int32(slot))
            submittedCount = limits.requestCount
            return nil
        }
        unsafe state.pointee.slots[slot].streamID = streamID
        unsafe state.pointee.waitingBodyByteCount += bytes.count
        submittedCount += 1
        try unsafe path.withUnsafeBufferPointer { (path) throws(HTTP2Error) in
            try unsafe identifier.withUnsafeBufferPointer { (identifier) throws(HTTP2Error) in
                try unsafe produceHead(of: slot, template, path, identifier)
            }
        }
        try produce()
        return slot
    }

    /// Lets libnghttp2 write the HEADERS frame of a new stream, which it was given without fields, and adds the fields.
    ///
    /// What libnghttp2 writes into the block by itself, a change of the table's size, stays in front of them.
    private func produceHead(
        of slot: Int, _ template: HTTP2RequestTemplate, _ path: UnsafeBufferPointer<UInt8>,
        _ identifier: UnsafeBufferPointer<UInt8>
    ) throws(HTTP2Error) {
        let streamID = unsafe state.pointee.slots[slot].streamID
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(handle, &bytes)
            guard count > 0, let bytes = unsafe bytes else {
                throw HTTP2Error(code: count < 0 ? Int32(count) : NGHTTP2_ERR_INVALID_STREAM_STATE.rawValue)
            }
            guard unsafe FrameHead.isHeaders(bytes, of: streamID) else {
                unsafe state.pointee.output.append(bytes, count: count)
                continue
            }
            let added = template.blockByteCount(pathByteCount: path.count, identifierByteCount: identifier.count)
            let blockByteCount = count - FrameHead.byteCount + added
            precondition(blockByteCount <= HTTP2RequestTemplate.blockByteCount, "a header block is one frame")
            unsafe state.pointee.slots[slot].headOffset = state.pointee.producedByteCount
            unsafe state.pointee.output.appendHead(bytes, payloadByteCount: blockByteCount)
            unsafe state.pointee.output.append(bytes + FrameHead.byteCount, count: count - FrameHead.byteCount)
            unsafe state.pointee.output.append(template.head)
            unsafe state.pointee.output.appendString(path)
            unsafe state.pointee.output.append(template.tail)
            unsafe state.pointee.output.appendString(identifier)
            return
        }
    }

    /// Whether the head of a request was handed over for sending, so that the peer may have seen it.
    package func mayHaveLeft(slot: Int) -> Bool {
        unsafe state.pointee.slots[slot].headOffset < state.pointee.takenByteCount
    }

    /// Gives a request up with RST_STREAM(CANCEL); `closed` names its slot once the frame is written.
    package func cancel(slot: Int) {
        _ = unsafe nghttp2_submit_rst_stream(handle, 0, state.pointee.slots[slot].streamID, NGHTTP2_CANCEL.rawValue)
    }

    /// Asks the peer whether it is there.
    package func ping() { _ = unsafe nghttp2_submit_ping(handle, 0, nil) }

    /// Says goodbye: no further request will come.
    package func terminate() { _ = unsafe nghttp2_session_terminate_session(handle, NGHTTP2_NO_ERROR.rawValue) }

    // MARK: Bytes out

    /// Lets libnghttp2 write, and lends what it wrote: about the output limit at most.
    ///
    /// Returns whether there was anything. The lent bytes count as handed over, also when `body` throws.
    package func withOutput<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(HTTP2OutputError<E>) -> Bool {
        do { try produce() } catch { throw .session(error) }
        let count = unsafe state.pointee.output.count
        guard count > 0 else { return false }
        unsafe state.pointee.takenByteCount += UInt64(count)
        do { try unsafe state.pointee.output.take(body) } catch { throw .writing(error) }
        return true
    }

    /// Lets libnghttp2 write into the output until it has nothing to say or the output is full.
    private func produce() throws(HTTP2Error) {
        while !isOutputFull {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(handle, &bytes)
            guard count >= 0 else { throw HTTP2Error(code: Int32(count)) }
            // Zero also follows DATA frames, which go straight into the output.
            guard count > 0, let bytes = unsafe bytes else { break }
            unsafe state.pointee.output.append(bytes, count: count)
        }
    }
}

/// Why output could not be handed over.
package enum HTTP2OutputError<Writing: Error>: Error {
    /// The session itself failed.
    case session(HTTP2Error)
    /// The one who was lent the bytes failed.
    case writing(Writing)
}
