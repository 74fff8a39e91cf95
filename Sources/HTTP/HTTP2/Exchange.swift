import CNGHTTP2

/// One request of an exchange session and its response, as far as they got.
final class HTTP2Exchange {
    /// What is sent.
    let body: [UInt8]
    var sentByteCount = 0
    /// Whether the head was handed over for sending.
    var hasHeadLeft = false
    /// Whether nobody waits for the end any more.
    var isGivenUp = false
    /// 0 until a head arrives; below 200 while only interim ones have.
    var status = 0
    var headers = HTTPHeaders()
    var headerByteCount = 0
    var response: [UInt8] = []
    /// Whether the final head is complete: fields after it are trailers.
    var isHeadComplete = false
    /// Whether the response is complete.
    var isComplete = false
    /// The limit the response exceeded, in bytes; nil while it keeps to them.
    var exceededLimit: Int?

    init(body: [UInt8]) { self.body = body }

    /// How the exchange ended when its stream closed with this code; `refused` only where nothing can have been processed.
    func end(errorCode: UInt32) -> HTTPClientResult {
        if isComplete { return .response(HTTPClientResponse(status: status, headers: headers, body: response)) }
        if let exceededLimit { return .unanswered(.responseTooLarge(byteLimit: exceededLimit)) }
        if errorCode == HTTP2ErrorCode.refusedStream || !hasHeadLeft { return .notSent(.refused) }
        return .unanswered(.reset(errorCode: errorCode))
    }
}

/// How one request of an exchange session ended.
struct HTTP2ExchangeEnd {
    let streamID: Int32
    let result: HTTPClientResult
}

/// What the callbacks of libnghttp2 do.
extension HTTP2ExchangeSession {
    func headerReceived(streamID: Int32, name: Span<UInt8>, value: Span<UInt8>) {
        guard let exchange = exchanges[streamID], !exchange.isHeadComplete, exchange.exceededLimit == nil else { return }
        exchange.headerByteCount += name.count + value.count + 32
        guard exchange.headerByteCount <= limits.headerByteCount else {
            return exceed(limits.headerByteCount, exchange, streamID)
        }
        let name = String(decodingHeader: name)
        let value = String(decodingHeader: value)
        if name == ":status" {
            // After an interim head, the next one begins anew. libnghttp2 has checked that it is a number.
            exchange.status = Int(value) ?? 0
            exchange.headers = HTTPHeaders()
            exchange.headerByteCount = 0
        } else {
            exchange.headers.append(checkedName: name, checkedValue: value)
        }
    }

    func bodyReceived(streamID: Int32, bytes: Span<UInt8>) {
        guard let exchange = exchanges[streamID], !exchange.isGivenUp, exchange.exceededLimit == nil else { return }
        guard exchange.response.count + bytes.count <= limits.bodyByteCount else {
            return exceed(limits.bodyByteCount, exchange, streamID)
        }
        unsafe bytes.withUnsafeBufferPointer { unsafe exchange.response.append(contentsOf: $0) }
    }

    private func exceed(_ limit: Int, _ exchange: HTTP2Exchange, _ streamID: Int32) {
        exchange.exceededLimit = limit
        exchange.response = []
        reset(streamID, errorCode: HTTP2ErrorCode.cancel)
    }

    func responseFrameReceived(streamID: Int32, isHeaders: Bool, endsStream: Bool) {
        guard let exchange = exchanges[streamID] else { return }
        if isHeaders, exchange.status >= 200 { exchange.isHeadComplete = true }
        guard endsStream, exchange.isHeadComplete, exchange.exceededLimit == nil else { return }
        exchange.isComplete = true
        // An answer that came before the whole body was sent makes the rest of it pointless.
        if exchange.sentByteCount < exchange.body.count { reset(streamID, errorCode: HTTP2ErrorCode.noError) }
    }

    func headSent(streamID: Int32) { exchanges[streamID]?.hasHeadLeft = true }

    func streamClosed(streamID: Int32, errorCode: UInt32) {
        guard let exchange = exchanges.removeValue(forKey: streamID), !exchange.isGivenUp else { return }
        ends.append(HTTP2ExchangeEnd(streamID: streamID, result: exchange.end(errorCode: errorCode)))
    }

    /// - Returns: how many bytes were copied, and whether they are the last.
    func copyRequestBody(streamID: Int32, into target: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        guard let exchange = exchanges[streamID] else { return (0, true) }
        let rest = exchange.body[exchange.sentByteCount...].prefix(target.count)
        _ = unsafe target.update(fromContentsOf: rest)
        exchange.sentByteCount += rest.count
        return (rest.count, exchange.sentByteCount == exchange.body.count)
    }
}
