import CNGHTTP2

/// What an exchange session may use; the peer's own limits come on top.
struct HTTP2ExchangeLimits {
    /// Most streams that are open at once.
    var streamCount = 100
    /// Largest header list of a response, in bytes as RFC 9113, 6.5.2 counts them.
    var headerByteCount = 16 * 1024
    /// Largest body of a response, in bytes.
    var bodyByteCount = 64 * 1024
}

/// The client side of one HTTP/2 connection for whole requests and whole responses: any fields, any bodies, within bounds.
///
/// It knows no socket. `HTTP2ClientSession` is its counterpart for pushes, which are many, alike, and answered by a status.
/// Not thread-safe: it lives inside the actor of its connection.
@safe final class HTTP2ExchangeSession {
    let limits: HTTP2ExchangeLimits
    private let handle: OpaquePointer
    /// By stream.
    var exchanges: [Int32: HTTP2Exchange] = [:]
    /// How streams ended since `takeEnds`. Bounded by the streams that may be open.
    var ends: [HTTP2ExchangeEnd] = []
    /// Whether the peer's first SETTINGS arrived.
    var hasPeerSettings = false
    /// The peer's latest GOAWAY; nil when there was none.
    var goAway: HTTP2GoAway?
    /// How many PINGs were answered.
    var pingAnswerCount = 0

    /// A session whose preface and SETTINGS wait to be taken.
    init(limits: HTTP2ExchangeLimits) throws(HTTP2Error) {
        self.limits = limits
        let callbacks = try ExchangeSessionCallbacks()
        var option: OpaquePointer?
        try unsafe HTTP2Error.check(nghttp2_option_new(&option))
        defer { unsafe nghttp2_option_del(option) }
        // Until the peer says how many it takes.
        unsafe nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        var handle: OpaquePointer?
        try unsafe HTTP2Error.check(nghttp2_session_client_new2(&handle, callbacks.handle, nil, option))
        guard let handle = unsafe handle else { throw HTTP2Error(code: NGHTTP2_ERR_NOMEM.rawValue) }
        unsafe self.handle = handle
        unsafe nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(self).toOpaque())
        let settings: [HTTP2Setting] = [.enablePush(false), .maxHeaderListSize(UInt32(limits.headerByteCount))]
        try unsafe HTTP2Setting.withEntries(settings) { (entries, count) throws(HTTP2Error) -> Void in
            try unsafe HTTP2Error.check(nghttp2_submit_settings(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, count))
        }
    }

    deinit { unsafe nghttp2_session_del(handle) }

    /// Whether another request can go on a stream now.
    var canSubmit: Bool {
        guard hasPeerSettings, unsafe nghttp2_session_check_request_allowed(handle) != 0 else { return false }
        let peer = unsafe nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return exchanges.count < min(Int(peer), limits.streamCount)
    }

    /// Whether neither side has anything left to say.
    var isFinished: Bool { unsafe nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

    /// Takes bytes from the peer; what they meant shows in `takeEnds`, `goAway` and the other properties.
    func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
        let count = unsafe bytes.withUnsafeBufferPointer { unsafe nghttp2_session_mem_recv(handle, $0.baseAddress, $0.count) }
        try HTTP2Error.check(count)
    }

    /// How streams ended since the last call.
    func takeEnds() -> [HTTP2ExchangeEnd] {
        guard !ends.isEmpty else { return [] }
        defer { ends = [] }
        return ends
    }

    /// Opens a request; `canSubmit` allowed it.
    ///
    /// - Returns: its stream; nil when libnghttp2 cannot open another one.
    func submit(_ request: HTTPClientRequest, authority: String) -> Int32? {
        let block = HeaderBlock(request, authority: authority)
        var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(fd: 0), read_callback: readRequestBody)
        var streamID: Int32 = 0
        unsafe block.withFields { (fields, count) throws(Never) -> Void in
            if request.body.isEmpty {
                streamID = unsafe nghttp2_submit_request(handle, nil, fields, count, nil, nil)
            } else {
                streamID = unsafe nghttp2_submit_request(handle, nil, fields, count, &provider, nil)
            }
        }
        guard streamID > 0 else { return nil }
        exchanges[streamID] = HTTP2Exchange(body: request.body)
        return streamID
    }

    /// Whether the head of a request that has not ended was handed over for sending, so that the peer may have seen it.
    func mayHaveLeft(_ streamID: Int32) -> Bool { exchanges[streamID]?.hasHeadLeft ?? false }

    /// Gives a request up; its end is not reported.
    func cancel(_ streamID: Int32) {
        guard let exchange = exchanges[streamID] else { return }
        exchange.isGivenUp = true
        reset(streamID, errorCode: HTTP2ErrorCode.cancel)
    }

    func reset(_ streamID: Int32, errorCode: UInt32) {
        _ = unsafe nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, errorCode)
    }

    /// Asks the peer whether it is there.
    func ping() { _ = unsafe nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    /// Says goodbye: no further request will come.
    func terminate() { _ = unsafe nghttp2_session_terminate_session(handle, HTTP2ErrorCode.noError) }

    /// Appends what is to be sent, up to about `limit` bytes (a frame is not split: at most 16 KiB more).
    ///
    /// - Returns: whether more is waiting that could be sent now.
    func takeOutput(into buffer: inout [UInt8], limit: Int) throws(HTTP2Error) -> Bool {
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
}
