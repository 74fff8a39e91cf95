import Networking

/// Responses whose body is made while it is sent.
///
/// A body stream keeps its request's place among the running ones until it ends, so that streams are bounded as handlers are.
extension HTTPConnection {
    /// The one stream there can be over HTTP/1.
    static let http1StreamID: Int32 = 0

    /// How the body of the streamed HTTP/1 response is framed, and whether another request may follow it.
    struct HTTP1BodyFraming {
        var isChunked = true
        var isPersistent = false
    }

    /// Sends what the stream offers from now on, after the head was sent.
    private func adopt(_ body: HTTPBodyStream, streamID: Int32) {
        runningCount += 1
        bodyStreams[streamID] = body
        if isDraining { body.finish() }
        body.begin { [weak self, loop] in
            loop.perform { self?.assumeIsolated { $0.bodyWaits(streamID: streamID) } }
        }
    }

    private func bodyWaits(streamID: Int32) {
        guard bodyStreams[streamID] != nil else { return }
        advance {
            switch mode {
            case .http1:
                try sendHTTP1Body()
                try serveHTTP1()
            case .http2(let session):
                try session.resume(streamID: streamID)
                scheduleFlush()
            case .handshaking, .undecided, .lingering, .closed: break
            }
        }
    }

    /// Lets go of a stream, ended or not; one that is gone is left alone.
    func releaseBody(streamID: Int32) {
        guard let body = bodyStreams.removeValue(forKey: streamID) else { return }
        runningCount -= 1
        body.release()
    }

    func releaseBodies() {
        for streamID in bodyStreams.keys { releaseBody(streamID: streamID) }
    }

    /// Ends every stream behind what waits in it: clients turn to another server.
    func finishBodies() {
        for body in bodyStreams.values { body.finish() }
    }

    // MARK: HTTP/1

    /// Sends the head of a response, and its body piece by piece.
    func sendStreamed(_ response: HTTPResponse, _ body: HTTPBodyStream, to method: String, framing: HTTP1BodyFraming) throws {
        var isAdopted = false
        // Sending may fail, and then nobody else lets go of it.
        defer { if !isAdopted { body.release() } }
        guard response.allowsBody, method != "HEAD" else {
            return framing.isPersistent
                ? try send(response, method: method, closes: false, isChunked: framing.isChunked)
                : try sendLast(response, method: method, reason: .finished, isChunked: framing.isChunked)
        }
        try send(response, method: method, closes: !framing.isPersistent, isChunked: framing.isChunked)
        http1BodyFraming = framing
        adopt(body, streamID: Self.http1StreamID)
        isAdopted = true
        // Reading shows whether the client is there; what it sends ahead waits in its own buffers all the same.
        if parser.unreadByteCount == 0 { try resumeReading() }
    }

    /// Sends pieces while the client takes them; one that it is too slow for is replaced by the next.
    func sendHTTP1Body() throws {
        while let body = bodyStreams[Self.http1StreamID], stream.unsentByteCount == 0, let piece = body.take() {
            var output: [UInt8] = []
            HTTP1ResponseWriter.appendPiece(piece, isChunked: http1BodyFraming.isChunked, to: &output)
            if !output.isEmpty { try stream.write(output.span) }
            guard piece.isLast else { continue }
            releaseBody(streamID: Self.http1StreamID)
            if !http1BodyFraming.isPersistent || isDraining { try linger(.finished) }
        }
    }

    // MARK: HTTP/2

    func respondHTTP2(streamID: Int32, _ response: HTTPResponse, to method: String = "") throws {
        var isAdopted = false
        // The stream may be gone, and sending may fail: then nobody else lets go of the body.
        defer { if !isAdopted { response.stream?.release() } }
        guard case .http2(let session) = mode else { return }
        let isSent = try session.respond(streamID: streamID, response: response.completed(date: services.dates.text))
        if let body = response.stream, isSent, response.allowsBody, method != "HEAD" {
            adopt(body, streamID: streamID)
            isAdopted = true
        }
        scheduleFlush()
    }
}
