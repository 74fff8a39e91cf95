import CNGHTTP2

/// What libnghttp2 calls. Each thunk finds the state and the slot, and does its work in place.
enum ClientSessionCallbacks {
    /// A table of callbacks; the caller frees it.
    static func make() throws(HTTP2Error) -> OpaquePointer {
        var callbacks: OpaquePointer?
        let code = unsafe nghttp2_session_callbacks_new(&callbacks)
        guard code == 0, let callbacks = unsafe callbacks else { throw HTTP2Error(code: code) }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClosed)
        unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks, onSendData)
        return unsafe callbacks
    }
}

private func recover(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ClientSessionState> {
    guard let userData = unsafe userData else { preconditionFailure("libnghttp2 lost its user data") }
    return unsafe userData.assumingMemoryBound(to: ClientSessionState.self)
}

/// The slot behind a stream; nil for a stream that has none (a push promise, or one that is already reported).
private func slot(
    of streamID: Int32, _ session: OpaquePointer?, _ state: UnsafeMutablePointer<ClientSessionState>
) -> Int? {
    if unsafe state.pointee.recentStreamID == streamID { return unsafe state.pointee.recentSlot }
    guard let bits = unsafe nghttp2_session_get_stream_user_data(session, streamID) else { return nil }
    let slot = Int(bitPattern: bits) - 1
    unsafe state.pointee.recentStreamID = streamID
    unsafe state.pointee.recentSlot = slot
    return slot
}

private func onHeader(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, name: UnsafePointer<UInt8>?, nameCount: Int,
    value: UnsafePointer<UInt8>?, valueCount: Int, flags: UInt8, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let name = unsafe name, let value = unsafe value else { return 0 }
    let isStatus = unsafe nameCount == 7 && name[0] == UInt8(ascii: ":")
    guard isStatus || nameCount == 11 else { return 0 }
    let state = unsafe recover(userData)
    guard let slot = unsafe slot(of: frame.pointee.hd.stream_id, session, state) else { return 0 }
    if isStatus {
        guard valueCount == 3 else { return 0 }
        var status = 0
        for index in 0..<3 { unsafe status = status * 10 + Int(value[index]) - 48 }
        unsafe state.pointee.slots[slot].status = status
    } else if unsafe state.pointee.slots[slot].status != 200, unsafe isRetryAfter(name) {
        let answer = unsafe state.pointee.answer(of: slot)
        let kept = min(valueCount, HTTP2ErrorAnswer.retryAfterByteLimit)
        unsafe state.pointee.answers[answer].retryAfter = Array(UnsafeBufferPointer(start: value, count: kept))
    }
    return 0
}

/// Whether eleven bytes spell `retry-after`; names arrive in lower case.
private func isRetryAfter(_ name: UnsafePointer<UInt8>) -> Bool {
    let expected: StaticString = "retry-after"
    return (0..<11).allSatisfy { index in unsafe name[index] == expected.utf8Start[index] }
}

private func onDataChunk(
    session: OpaquePointer?, flags: UInt8, streamID: Int32, data: UnsafePointer<UInt8>?, count: Int,
    userData: UnsafeMutableRawPointer?
) -> Int32 {
    let state = unsafe recover(userData)
    guard let data = unsafe data, let slot = unsafe slot(of: streamID, session, state) else { return 0 }
    let answer = unsafe state.pointee.answer(of: slot)
    let room = unsafe HTTP2ErrorAnswer.bodyByteLimit - state.pointee.answers[answer].body.count
    unsafe state.pointee.answers[answer].body.append(contentsOf: UnsafeBufferPointer(start: data, count: min(count, room)))
    return 0
}

private func onFrameReceived(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let state = unsafe recover(userData)
    let flags = unsafe UInt32(frame.pointee.hd.flags)
    switch unsafe UInt32(frame.pointee.hd.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        if flags & NGHTTP2_FLAG_END_STREAM.rawValue != 0 { unsafe answered(frame.pointee.hd.stream_id, session, state) }
    case NGHTTP2_SETTINGS.rawValue:
        if flags & NGHTTP2_FLAG_ACK.rawValue == 0 { unsafe state.pointee.hasSettings = true }
    case NGHTTP2_PING.rawValue:
        if flags & NGHTTP2_FLAG_ACK.rawValue != 0 { unsafe state.pointee.pingAnswerCount += 1 }
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = unsafe frame.pointee.goaway
        let kept = unsafe min(goAway.opaque_data_len, HTTP2GoAway.debugDataByteLimit)
        unsafe state.pointee.goAway = HTTP2GoAway(
            lastStreamID: goAway.last_stream_id, errorCode: goAway.error_code,
            debugData: Array(UnsafeBufferPointer(start: goAway.opaque_data, count: kept)))
    default: break
    }
    return 0
}

/// An answer that came before the whole body had been sent makes the rest of the body pointless.
private func answered(_ streamID: Int32, _ session: OpaquePointer?, _ state: UnsafeMutablePointer<ClientSessionState>) {
    guard let slot = unsafe slot(of: streamID, session, state) else { return }
    guard unsafe state.pointee.slots[slot].writtenByteCount < state.pointee.slots[slot].bodyByteCount else { return }
    _ = unsafe nghttp2_submit_rst_stream(session, 0, streamID, NGHTTP2_NO_ERROR.rawValue)
}

private func onStreamClosed(
    session: OpaquePointer?, streamID: Int32, errorCode: UInt32, userData: UnsafeMutableRawPointer?
) -> Int32 {
    let state = unsafe recover(userData)
    guard let slot = unsafe slot(of: streamID, session, state) else { return 0 }
    unsafe state.pointee.close(slot: slot, errorCode: errorCode)
    return 0
}

/// Tells libnghttp2 how much of the body fits; the bytes themselves are written by `onSendData`.
func onReadBody(
    session: OpaquePointer?, streamID: Int32, buffer: UnsafeMutablePointer<UInt8>?, limit: Int,
    dataFlags: UnsafeMutablePointer<UInt32>?, source: UnsafeMutablePointer<nghttp2_data_source>?,
    userData: UnsafeMutableRawPointer?
) -> Int {
    guard let source = unsafe source, let dataFlags = unsafe dataFlags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    let state = unsafe recover(userData)
    let slot = unsafe Int(source.pointee.fd)
    let offset = unsafe state.pointee.slots[slot].readByteCount
    let remaining = unsafe state.pointee.slots[slot].bodyByteCount - offset
    let count = min(remaining, limit)
    // Not `+=`: Swift 6.3.1 makes invalid code of it for the thread sanitizer.
    unsafe state.pointee.slots[slot].readByteCount = offset + count
    unsafe dataFlags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if count == remaining { unsafe dataFlags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}

/// Writes the head and the bytes of one DATA frame straight into the output.
private func onSendData(
    session: OpaquePointer?, frame: UnsafeMutablePointer<nghttp2_frame>?, head: UnsafePointer<UInt8>?, count: Int,
    source: UnsafeMutablePointer<nghttp2_data_source>?, userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let source = unsafe source, let head = unsafe head else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    let state = unsafe recover(userData)
    let isFull = unsafe state.pointee.output.count >= state.pointee.outputByteLimit
    guard !isFull else { return NGHTTP2_ERR_WOULDBLOCK.rawValue }
    let slot = unsafe Int(source.pointee.fd)
    let offset = unsafe state.pointee.slots[slot].writtenByteCount
    unsafe state.pointee.output.append(head, count: 9)
    if let body = unsafe state.pointee.slots[slot].body {
        unsafe state.pointee.output.append(body + offset, count: count)
    }
    unsafe state.pointee.slots[slot].writtenByteCount = offset + count
    unsafe state.pointee.waitingBodyByteCount -= count
    return 0
}
