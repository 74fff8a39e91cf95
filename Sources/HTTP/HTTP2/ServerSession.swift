import CNGHTTP2

/// The server's side of one HTTP/2 connection: bytes in, events out, bytes out. It has no socket and starts nothing.
///
/// Not thread-safe: it lives inside the actor of its connection. After each `receive`, pull the events until there are none, then
/// take the output. Requests are handed out whole; bodies are bounded while they stream in.
@safe package final class HTTP2ServerSession {
    let limits: HTTP2ServerLimits
    private let handle: OpaquePointer
    var streams: [Int32: ServerStream] = [:]
    /// Bounded by what one `receive` can carry: at least nine bytes of input per event.
    private var events: [HTTP2ServerEvent] = []
    private var nextEventIndex = 0
    /// Body bytes of requests that were not handed out yet.
    var bufferedBodyByteCount = 0
    /// Streams that `isSettled`.
    var settledStreamCount = 0

    /// - Parameter settings: the first SETTINGS frame, queued at once; nil sends none until `submit(settings:)`, which the protocol
    ///   does not allow a server, but a test server may want to.
    package init(settings: [HTTP2Setting]?, limits: HTTP2ServerLimits = HTTP2ServerLimits()) throws(HTTP2Error) {
        self.limits = limits
        let callbacks = try ServerSessionCallbacks()
        let options = try ServerSessionOptions(limits: limits)
        var handle: OpaquePointer?
        try unsafe HTTP2Error.check(nghttp2_session_server_new2(&handle, callbacks.handle, nil, options.handle))
        guard let handle = unsafe handle else { throw HTTP2Error(code: NGHTTP2_ERR_NOMEM.rawValue) }
        unsafe self.handle = handle
        unsafe nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(self).toOpaque())
        if let settings { try submit(settings: settings) }
        try unsafe HTTP2Error.check(
            nghttp2_session_set_local_window_size(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, limits.connectionWindowByteCount))
    }

    deinit { unsafe nghttp2_session_del(handle) }

    // MARK: Input

    /// Reads what the peer sent. A protocol error of the peer queues GOAWAY and does not throw; an error that throws leaves the
    /// session unusable but for `takeOutput`.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        let handle = unsafe self.handle
        let count = unsafe bytes.withUnsafeBufferPointer { unsafe nghttp2_session_mem_recv(handle, $0.baseAddress, $0.count) }
        try HTTP2Error.check(count)
    }

    /// The next thing that happened, or nil.
    package func nextEvent() -> HTTP2ServerEvent? {
        while nextEventIndex < events.count {
            let event = events[nextEventIndex]
            nextEventIndex += 1
            if case .request(let streamID, let request) = event {
                bufferedBodyByteCount -= request.body.count
                // Reset by the peer before anybody saw it: then it never was.
                guard streams[streamID]?.phase == .received else { continue }
                streams[streamID]?.phase = .delivered
            }
            return event
        }
        events.removeAll(keepingCapacity: true)
        nextEventIndex = 0
        return nil
    }

    func append(_ event: HTTP2ServerEvent) { events.append(event) }

    // MARK: Output

    /// Appends what is to be sent, up to about `limit` bytes (a frame is not split: at most 16 KiB more).
    ///
    /// - Returns: whether more is waiting that could be sent now.
    package func takeOutput(into buffer: inout [UInt8], limit: Int) throws(HTTP2Error) -> Bool {
        var taken = 0
        while taken < limit {
            var data: UnsafePointer<UInt8>?
            let count = try unsafe HTTP2Error.check(nghttp2_session_mem_send(handle, &data))
            guard count > 0, let start = unsafe data else { return false }
            unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
            taken += count
        }
        return unsafe nghttp2_session_want_write(handle) != 0
    }

    /// Queues a response. Header fields are sent in order as they are: nothing is added but `:status`.
    ///
    /// - Returns: false when the stream is gone or has a response already.
    @discardableResult
    package func respond(streamID: Int32, response: HTTPResponse) throws(HTTP2Error) -> Bool {
        guard let stream = streams[streamID], !stream.hasResponse else { return false }
        let allowsBody = response.allowsBody && stream.request.method != "HEAD"
        let hasBody = allowsBody && (!response.body.isEmpty || response.stream != nil)
        streams[streamID]?.hasResponse = true
        streams[streamID]?.progressedAt = .now
        if hasBody {
            streams[streamID]?.responseBody = response.body
            streams[streamID]?.bodyStream = response.stream
        }
        let block = HeaderBlock(response)
        var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(fd: 0), read_callback: readResponseBody)
        try unsafe block.withFields { (fields, count) throws(HTTP2Error) -> Void in
            if hasBody {
                try unsafe HTTP2Error.check(nghttp2_submit_response(handle, streamID, fields, count, &provider))
            } else {
                try unsafe HTTP2Error.check(nghttp2_submit_response(handle, streamID, fields, count, nil))
            }
        }
        return true
    }

    /// Goes on with a response whose body is streamed, after its stream said that something waits.
    package func resume(streamID: Int32) throws(HTTP2Error) {
        guard streams[streamID]?.isDeferred == true else { return }
        streams[streamID]?.isDeferred = false
        try unsafe HTTP2Error.check(nghttp2_session_resume_data(handle, streamID))
    }

    /// Tells the peer to go on with a body it asked about (`expect: 100-continue`).
    func submitContinue(streamID: Int32) throws(HTTP2Error) {
        let block = HeaderBlock(status: 100)
        try unsafe block.withFields { (fields, count) throws(HTTP2Error) -> Void in
            let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
            try unsafe HTTP2Error.check(nghttp2_submit_headers(handle, flags, streamID, nil, fields, count, nil))
        }
    }

    /// Queues RST_STREAM; a response that waits on the stream is dropped. A stream that is gone is left alone.
    package func reset(streamID: Int32, errorCode: UInt32) throws(HTTP2Error) {
        guard streams[streamID] != nil else { return }
        try unsafe HTTP2Error.check(nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, errorCode))
    }

    /// Queues GOAWAY. The connection stays up for the streams up to `lastStreamID`; later ones are closed without a frame.
    ///
    /// - Parameter lastStreamID: nil is the last stream the session saw. An identifier above that of an earlier GOAWAY is lowered
    ///   to it, as the protocol demands.
    package func goAway(lastStreamID: Int32? = nil, errorCode: UInt32, debugData: [UInt8] = []) throws(HTTP2Error) {
        let last = unsafe lastStreamID ?? nghttp2_session_get_last_proc_stream_id(handle)
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        try unsafe debugData.withUnsafeBufferPointer { (debug) throws(HTTP2Error) -> Void in
            try unsafe HTTP2Error.check(nghttp2_submit_goaway(handle, flags, last, errorCode, debug.baseAddress, debug.count))
        }
    }

    /// Queues GOAWAY that excludes no stream yet, and PING behind it: `.pingAcknowledged` tells that the peer has read it, and that no
    /// stream comes any more. Then it is time for `goAway` (RFC 9113, 6.8).
    package func announceGoAway() throws(HTTP2Error) {
        try unsafe HTTP2Error.check(nghttp2_submit_shutdown_notice(handle))
        try unsafe HTTP2Error.check(nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    /// Queues a SETTINGS frame; `.settingsAcknowledged` tells when the peer has applied it.
    package func submit(settings: [HTTP2Setting]) throws(HTTP2Error) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        try unsafe HTTP2Setting.withEntries(settings) { (entries, count) throws(HTTP2Error) -> Void in
            try unsafe HTTP2Error.check(nghttp2_submit_settings(handle, flags, entries, count))
        }
    }

    // MARK: State

    /// Whether nothing more will be read or written: the connection can be closed.
    package var isFinished: Bool {
        unsafe nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0
    }

    /// Whether `takeOutput` would yield something now.
    package var wantsToWrite: Bool { unsafe nghttp2_session_want_write(handle) != 0 }

    /// Streams whose request is not complete or not answered whole.
    package var openStreamCount: Int { streams.count - settledStreamCount }
}

extension HTTP2ServerSession {
    /// What every client sends first (RFC 9113, 3.4).
    static let clientPreface: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
