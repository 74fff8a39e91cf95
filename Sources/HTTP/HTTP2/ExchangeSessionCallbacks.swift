import CNGHTTP2

/// The callbacks of an exchange session; libnghttp2 copies them when a session is made.
@safe struct ExchangeSessionCallbacks: ~Copyable {
    let handle: OpaquePointer

    init() throws(HTTP2Error) {
        var handle: OpaquePointer?
        try unsafe HTTP2Error.check(nghttp2_session_callbacks_new(&handle))
        guard let handle = unsafe handle else { throw HTTP2Error(code: NGHTTP2_ERR_NOMEM.rawValue) }
        unsafe self.handle = handle
        unsafe nghttp2_session_callbacks_set_on_header_callback(handle, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(handle, onDataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(handle, onFrameReceived)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(handle, onFrameSent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(handle, onStreamClosed)
    }

    deinit { unsafe nghttp2_session_callbacks_del(handle) }
}

private func recover(_ userData: UnsafeMutableRawPointer?) -> HTTP2ExchangeSession {
    guard let userData = unsafe userData else { preconditionFailure("libnghttp2 lost its user data") }
    return unsafe Unmanaged<HTTP2ExchangeSession>.fromOpaque(userData).takeUnretainedValue()
}

private func onHeader(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, name: UnsafePointer<UInt8>?, nameCount: Int,
    value: UnsafePointer<UInt8>?, valueCount: Int, flags: UInt8, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
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
    unsafe recover(userData).bodyReceived(streamID: streamID, bytes: bytes.span)
    return 0
}

private func onFrameReceived(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let client = unsafe recover(userData)
    let header = unsafe frame.pointee.hd
    let flags = UInt32(header.flags)
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        client.responseFrameReceived(
            streamID: header.stream_id, isHeaders: UInt32(header.type) == NGHTTP2_HEADERS.rawValue,
            endsStream: flags & NGHTTP2_FLAG_END_STREAM.rawValue != 0)
    case NGHTTP2_SETTINGS.rawValue:
        if flags & NGHTTP2_FLAG_ACK.rawValue == 0 { client.hasPeerSettings = true }
    case NGHTTP2_PING.rawValue:
        if flags & NGHTTP2_FLAG_ACK.rawValue != 0 { client.pingAnswerCount += 1 }
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = unsafe frame.pointee.goaway
        let kept = unsafe min(goAway.opaque_data_len, HTTP2GoAway.debugDataByteLimit)
        unsafe client.goAway = HTTP2GoAway(
            lastStreamID: goAway.last_stream_id, errorCode: goAway.error_code,
            debugData: Array(UnsafeBufferPointer(start: goAway.opaque_data, count: kept)))
    default: break
    }
    return 0
}

private func onFrameSent(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    if UInt32(header.type) == NGHTTP2_HEADERS.rawValue { unsafe recover(userData).headSent(streamID: header.stream_id) }
    return 0
}

private func onStreamClosed(
    session: OpaquePointer?, streamID: Int32, errorCode: UInt32, userData: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe recover(userData).streamClosed(streamID: streamID, errorCode: errorCode)
    return 0
}

/// Copies the next bytes of a request into the frame being made.
func readRequestBody(
    session: OpaquePointer?, streamID: Int32, buffer: UnsafeMutablePointer<UInt8>?, capacity: Int,
    dataFlags: UnsafeMutablePointer<UInt32>?, source: UnsafeMutablePointer<nghttp2_data_source>?,
    userData: UnsafeMutableRawPointer?
) -> Int {
    guard let buffer = unsafe buffer, let dataFlags = unsafe dataFlags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    let target = unsafe UnsafeMutableBufferPointer(start: buffer, count: capacity)
    let (count, isLast) = unsafe recover(userData).copyRequestBody(streamID: streamID, into: target)
    if isLast { unsafe dataFlags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
