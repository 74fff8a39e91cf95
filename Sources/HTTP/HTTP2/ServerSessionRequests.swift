import CNGHTTP2

/// What the callbacks of libnghttp2 do: assemble requests, refuse what exceeds a limit, feed responses, close streams.
extension HTTP2ServerSession {
    func requestBegan(streamID: Int32) {
        streams[streamID] = ServerStream(startedAt: .now)
    }

    func headerReceived(streamID: Int32, name: Span<UInt8>, value: Span<UInt8>) {
        guard var stream = streams.removeValue(forKey: streamID) else { return }
        defer { streams[streamID] = stream }
        stream.headerCount += 1
        stream.headerByteCount += name.count + value.count + 32
        guard stream.headerCount <= limits.headerCount, stream.headerByteCount <= limits.headerByteCount else {
            stream.hasExcessiveHeaders = true
            return
        }
        let value = String(decodingHeader: value)
        switch String(decodingHeader: name) {
        case ":method": stream.request.method = value
        case ":path": stream.request.target = value
        case ":authority": stream.request.authority = value
        case ":scheme": stream.request.scheme = value
        case let name: stream.request.headers.append(checkedName: name, checkedValue: value)
        }
    }

    /// - Returns: what the callback answers to libnghttp2.
    func bodyReceived(streamID: Int32, bytes: Span<UInt8>) -> Int32 {
        guard let stream = streams[streamID] else { return 0 }
        if stream.isSettled { return dropped(streamID, bytes.count) }
        guard stream.phase == .receivingBody else { return 0 }
        if stream.request.body.count + bytes.count > limits.bodyByteCount { return rejectInCallback(streamID, 413) }
        if bufferedBodyByteCount + bytes.count > limits.bufferedBodyByteCount {
            bufferedBodyByteCount -= stream.request.body.count
            streams[streamID]?.request.body = []
            streams[streamID]?.phase = .rejected
            do throws(HTTP2Error) {
                try reset(streamID: streamID, errorCode: HTTP2ErrorCode.refusedStream)
                return 0
            } catch { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        }
        bufferedBodyByteCount += bytes.count
        unsafe bytes.withUnsafeBufferPointer { unsafe streams[streamID]?.request.body.append(contentsOf: $0) }
        return 0
    }

    func requestFrameReceived(streamID: Int32, isHeaders: Bool, endsStream: Bool) -> Int32 {
        guard let stream = streams[streamID] else { return 0 }
        if isHeaders, stream.phase == .receivingHeaders {
            if let status = refusal(of: stream) { return rejectInCallback(streamID, status) }
            if stream.request.authority == nil { streams[streamID]?.request.authority = stream.request.headers["host"] }
            streams[streamID]?.phase = .receivingBody
            if !endsStream, let expectation = stream.request.headers["expect"] {
                guard expectation.lowercased() == "100-continue" else { return rejectInCallback(streamID, 417) }
                do throws(HTTP2Error) { try submitContinue(streamID: streamID) } catch {
                    return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
                }
            }
        }
        guard endsStream, streams[streamID]?.phase == .receivingBody, let request = streams[streamID]?.request else { return 0 }
        streams[streamID]?.phase = .received
        streams[streamID]?.request = HTTPRequest(method: request.method, target: "", version: .http2)
        append(.request(streamID: streamID, request))
        return 0
    }

    /// The status that refuses the request for its header fields; nil when they are in order. Malformed requests do not get
    /// here: libnghttp2 resets their streams.
    private func refusal(of stream: ServerStream) -> Int? {
        if stream.hasExcessiveHeaders { return 431 }
        if stream.request.method == "CONNECT" || stream.request.method.utf8.count > HTTPRequest.methodByteCount { return 501 }
        let target = stream.request.target
        guard target.utf8.allSatisfy({ HTTPCharacters.isTarget($0) }) else { return 400 }
        guard target.utf8.first == UInt8(ascii: "/") || (target == "*" && stream.request.method == "OPTIONS") else { return 400 }
        if let authority = stream.request.authority, let host = stream.request.headers["host"], authority != host { return 400 }
        return nil
    }

    private func rejectInCallback(_ streamID: Int32, _ status: Int) -> Int32 {
        do throws(HTTP2Error) {
            try reject(streamID: streamID, status: status)
            return 0
        } catch { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    }

    /// Answers a request that is not handed on. The rest of its body is dropped, up to a limit.
    func reject(streamID: Int32, status: Int) throws(HTTP2Error) {
        guard let stream = streams[streamID] else { return }
        bufferedBodyByteCount -= stream.request.body.count
        streams[streamID]?.phase = .rejected
        streams[streamID]?.request.body = []
        append(.rejected(streamID: streamID, status: status))
        try respond(streamID: streamID, response: .refusal(status))
    }

    /// - Returns: how many bytes were copied, and whether they are the last; nil when there is nothing to send for the moment.
    func copyResponseBody(streamID: Int32, into target: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool)? {
        guard var stream = streams.removeValue(forKey: streamID) else { return (0, true) }
        defer { streams[streamID] = stream }
        if stream.sentByteCount == stream.responseBody.count, let source = stream.bodyStream {
            guard let piece = source.take() else {
                stream.isDeferred = true
                return nil
            }
            (stream.responseBody, stream.sentByteCount) = (piece.bytes, 0)
            if piece.isLast { stream.bodyStream = nil }
        }
        let rest = stream.responseBody[stream.sentByteCount...].prefix(target.count)
        _ = unsafe target.update(fromContentsOf: rest)
        stream.sentByteCount += rest.count
        stream.progressedAt = .now
        return (rest.count, stream.sentByteCount == stream.responseBody.count && stream.bodyStream == nil)
    }

    func responseSent(streamID: Int32) {
        streams[streamID]?.sentEndOfStream = true
        if streams[streamID]?.phase == .rejected { settledStreamCount += 1 }
    }

    /// Ends a refused stream whose peer goes on sending.
    ///
    /// RST_STREAM does not follow the answer at once: curl 7.88 loses an answer that it reads together with a reset.
    private func dropped(_ streamID: Int32, _ count: Int) -> Int32 {
        streams[streamID]?.droppedByteCount += count
        guard let stream = streams[streamID], stream.droppedByteCount > limits.droppedBodyByteCount else { return 0 }
        do throws(HTTP2Error) {
            try reset(streamID: streamID, errorCode: HTTP2ErrorCode.noError)
            return 0
        } catch { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    }

    func streamClosed(streamID: Int32, errorCode: UInt32) {
        guard let stream = streams.removeValue(forKey: streamID) else { return }
        if stream.isSettled { settledStreamCount -= 1 }
        switch stream.phase {
        case .delivered where stream.sentEndOfStream: append(.finished(streamID: streamID))
        case .delivered: append(.reset(streamID: streamID, errorCode: errorCode))
        case .receivingHeaders, .receivingBody: bufferedBodyByteCount -= stream.request.body.count
        case .received, .rejected: break
        }
    }
}

extension String {
    /// Reads a header name or value; bytes that are not UTF-8 become U+FFFD.
    init(decodingHeader bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
