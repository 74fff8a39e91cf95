import CNGHTTP2

/// What a client session may do; the peer's own limits come on top.
package struct HTTP2ClientLimits: Sendable {
    /// Most streams that are open at once, whatever the peer allows. APNs was seen to allow up to 1,500.
    package var streamCount = 1000
    /// DATA frames wait while this many bytes are not taken yet: four TLS records.
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
        let code = unsafe nghttp2_session_client_new2(&session, callbacks, memory, options)
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

    /// Whether a request with a body of this size can be opened and its body leave at once.
    ///
    /// A body that does not fit the connection's window opens only when nothing else waits for the window.
    package func canSubmit(bodyByteCount: Int) -> Bool {
        guard openCount < streamLimit, !isWornOut, unsafe nghttp2_session_check_request_allowed(handle) != 0 else { return false }
        let waiting = unsafe state.pointee.waitingBodyByteCount
        return unsafe waiting == 0 || waiting + bodyByteCount <= Int(nghttp2_session_get_remote_window_size(handle))
    }

    /// Opens a request; `canSubmit` was true.
    ///
    /// - Parameters:
    ///   - path: the value of `:path`; copied.
    ///   - identifier: the value of the template's identifier field; copied.
    ///   - body: which body of the template.
    /// - Returns: the slot that `closed` will name; nil when libnghttp2 cannot open another stream.
    package func submit(_ template: HTTP2RequestTemplate, path: Span<UInt8>, identifier: Span<UInt8>, body: Int) -> Int? {
        guard let slot = unsafe state.pointee.freeSlots.popLast() else { return nil }
        unsafe state.pointee.slots[slot].template = template
        unsafe state.pointee.slots[slot].bodyIndex = body
        let byteCount = template.bodies[body].count
        let streamID = unsafe path.withUnsafeBufferPointer { path in
            unsafe identifier.withUnsafeBufferPointer { identifier in
                let fields = unsafe template.fields
                unsafe fields[HTTP2RequestTemplate.pathIndex].value = UnsafeMutablePointer(mutating: path.baseAddress)
                unsafe fields[HTTP2RequestTemplate.pathIndex].valuelen = path.count
                unsafe fields[HTTP2RequestTemplate.identifierIndex].value = UnsafeMutablePointer(mutating: identifier.baseAddress)
                unsafe fields[HTTP2RequestTemplate.identifierIndex].valuelen = identifier.count
                var provider = unsafe nghttp2_data_provider(
                    source: nghttp2_data_source(fd: Int32(truncatingIfNeeded: slot)), read_callback: onReadBody)
                return unsafe nghttp2_submit_request(
                    handle, nil, fields, template.fieldCount, &provider, UnsafeMutableRawPointer(bitPattern: slot + 1))
            }
        }
        guard streamID > 0 else {
            unsafe state.pointee.slots[slot] = ClientStream()
            unsafe state.pointee.freeSlots.append(slot)
            submittedCount = limits.requestCount
            return nil
        }
        unsafe state.pointee.slots[slot].streamID = streamID
        unsafe state.pointee.waitingBodyByteCount += byteCount
        submittedCount += 1
        return slot
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

    /// Lets libnghttp2 write, and lends what it wrote: at most the output limit and one frame at a time.
    ///
    /// Returns whether there was anything. The lent bytes count as handed over, also when `body` throws.
    package func withOutput<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(HTTP2OutputError<E>) -> Bool {
        while unsafe state.pointee.output.count < limits.outputByteCount {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(handle, &bytes)
            guard count >= 0 else { throw .session(HTTP2Error(code: Int32(count))) }
            // Zero also follows DATA frames, which go straight into the output.
            guard count > 0 else { break }
            unsafe state.pointee.output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        let count = unsafe state.pointee.output.count
        guard count > 0 else { return false }
        unsafe state.pointee.takenByteCount += UInt64(count)
        defer { unsafe state.pointee.output.removeAll(keepingCapacity: true) }
        do { try unsafe body(state.pointee.output.span) } catch { throw .writing(error) }
        return true
    }
}

/// Why output could not be handed over.
package enum HTTP2OutputError<Writing: Error>: Error {
    /// The session itself failed.
    case session(HTTP2Error)
    /// The one who was lent the bytes failed.
    case writing(Writing)
}
