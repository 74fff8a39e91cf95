import CNGHTTP2

/// The callbacks of a server session; libnghttp2 copies them when a session is made.
@safe struct ServerSessionCallbacks: ~Copyable {
    let handle: OpaquePointer

    init() throws(HTTP2Error) {
        var handle: OpaquePointer?
        try unsafe HTTP2Error.check(nghttp2_session_callbacks_new(&handle))
        guard let handle = unsafe handle else { throw HTTP2Error(code: NGHTTP2_ERR_NOMEM.rawValue) }
        unsafe self.handle = handle
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(handle, onBeginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(handle, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(handle, onDataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(handle, onFrameReceived)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(handle, onFrameSent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(handle, onStreamClosed)
    }

    deinit { unsafe nghttp2_session_callbacks_del(handle) }
}

/// The options of a server session; libnghttp2 copies them when a session is made.
@safe struct ServerSessionOptions: ~Copyable {
    let handle: OpaquePointer

    init(limits: HTTP2ServerLimits) throws(HTTP2Error) {
        var handle: OpaquePointer?
        try unsafe HTTP2Error.check(nghttp2_option_new(&handle))
        guard let handle = unsafe handle else { throw HTTP2Error(code: NGHTTP2_ERR_NOMEM.rawValue) }
        unsafe self.handle = handle
        unsafe nghttp2_option_set_no_closed_streams(handle, 1)
        unsafe nghttp2_option_set_max_outbound_ack(handle, limits.waitingAcknowledgementCount)
        switch limits.streamResets {
        case .limited(let burst, let rate): unsafe nghttp2_option_set_stream_reset_rate_limit(handle, burst, rate)
        case .unlimited: unsafe nghttp2_option_set_stream_reset_rate_limit(handle, .max, .max)
        }
    }

    deinit { unsafe nghttp2_option_del(handle) }
}

private func recover(_ userData: UnsafeMutableRawPointer?) -> HTTP2ServerSession {
    guard let userData = unsafe userData else { preconditionFailure("libnghttp2 lost its user data") }
    return unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(userData).takeUnretainedValue()
}

private func onBeginHeaders(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
    unsafe recover(userData).requestBegan(streamID: frame.pointee.hd.stream_id)
    return 0
}

private func onHeader(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, name: UnsafePointer<UInt8>?, nameCount: Int,
    value: UnsafePointer<UInt8>?, valueCount: Int, flags: UInt8, userData: UnsafeMutableRawPointer?
) -> Int32 {
    // Trailers come in another category, and are dropped.
    guard let frame = unsafe frame, unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
    let nameBytes = unsafe UnsafeBufferPointer(start: name, count: nameCount)
    let valueBytes = unsafe UnsafeBufferPointer(start: value, count: valueCount)
    unsafe recover(userData).headerReceived(streamID: frame.pointee.hd.stream_id, name: nameBytes.span, value: valueBytes.span)
    return 0
}

private func onDataChunk(
    session: OpaquePointer?, flags: UInt8, streamID: Int32, data: UnsafePointer<UInt8>?, count: Int,
    userData: UnsafeMutableRawPointer?
) -> Int32 {
    let bytes = unsafe UnsafeBufferPointer(start: data, count: count)
    return unsafe recover(userData).bodyReceived(streamID: streamID, bytes: bytes.span)
}

private func onFrameReceived(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let server = unsafe recover(userData)
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        let endsStream = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        return server.requestFrameReceived(
            streamID: header.stream_id, isHeaders: UInt32(header.type) == NGHTTP2_HEADERS.rawValue, endsStream: endsStream)
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = unsafe frame.pointee.goaway
        unsafe server.append(.goAway(lastStreamID: goAway.last_stream_id, errorCode: goAway.error_code))
    case NGHTTP2_SETTINGS.rawValue where UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0:
        server.append(.settingsAcknowledged)
    case NGHTTP2_PING.rawValue:
        server.append(UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 ? .ping : .pingAcknowledged)
    default: break
    }
    return 0
}

private func onFrameSent(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    let type = UInt32(header.type)
    guard type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue,
        UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    else { return 0 }
    unsafe recover(userData).responseSent(streamID: header.stream_id)
    return 0
}

private func onStreamClosed(
    session: OpaquePointer?, streamID: Int32, errorCode: UInt32, userData: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe recover(userData).streamClosed(streamID: streamID, errorCode: errorCode)
    return 0
}

/// Copies the next bytes of a response into the frame being made.
func readResponseBody(
    session: OpaquePointer?, streamID: Int32, buffer: UnsafeMutablePointer<UInt8>?, capacity: Int,
    dataFlags: UnsafeMutablePointer<UInt32>?, source: UnsafeMutablePointer<nghttp2_data_source>?,
    userData: UnsafeMutableRawPointer?
) -> Int {
    guard let buffer = unsafe buffer, let dataFlags = unsafe dataFlags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    let target = unsafe UnsafeMutableBufferPointer(start: buffer, count: capacity)
    guard let (count, isLast) = unsafe recover(userData).copyResponseBody(streamID: streamID, into: target) else {
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    if isLast { unsafe dataFlags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
