import Networking

/// HTTP/2 on a connection: concurrent requests, answered in any order.
extension HTTPConnection {
    /// Output taken from the session at once; TLS makes full records of it.
    private static let outputByteCount = 64 * 1024

    func startHTTP2() throws {
        let settings: [HTTP2Setting] = [
            .maxConcurrentStreams(UInt32(limits.concurrentStreamCount)), .maxHeaderListSize(UInt32(limits.headerByteCount)),
            .initialWindowSize(UInt32(256 * 1024)), .withoutPriorities,
        ]
        let session = try HTTP2ServerSession(settings: settings, limits: limits.http2)
        mode = .http2(session)
        if isDraining { try announceEnd(session, .finished) } else { try flushHTTP2(session) }
    }

    /// Tells the client to open no more streams. Only when it has heard that, or had the time to, it is told which was the last: what it sent
    /// before is answered, and not lost (RFC 9113, 6.8).
    func announceEnd(_ session: HTTP2ServerSession, _ reason: HTTPConnectionEnd) throws {
        guard case .none = farewell else { return }
        farewell = .announced(at: .now, reason)
        try session.announceGoAway()
        try flushHTTP2(session)
    }

    func sayLastStream(_ session: HTTP2ServerSession) throws {
        guard case .announced(_, let reason) = farewell else { return }
        farewell = .final(reason)
        try session.goAway(errorCode: HTTP2ErrorCode.noError)
    }

    func receiveHTTP2(_ input: [UInt8], _ session: HTTP2ServerSession) throws {
        try session.receive(input.span)
        while let event = session.nextEvent() { try handle(event, session) }
        scheduleFlush()
        if !hasRoomForOutput { pauseReading() }
    }

    private func handle(_ event: HTTP2ServerEvent, _ session: HTTP2ServerSession) throws {
        switch event {
        case .request(let streamID, let request):
            // Streams that were reset are gone, but their handlers may still work: they count.
            guard runningCount < limits.concurrentStreamCount else {
                return try session.reset(streamID: streamID, errorCode: HTTP2ErrorCode.refusedStream)
            }
            guard countMemory(next: request.body.count) else {
                services.report(.refused(status: 503, reason: "request memory exhausted"))
                return try respondHTTP2(streamID: streamID, .refusal(503))
            }
            let method = request.method
            start(request) { (connection, response) in
                connection.advance { try connection.respondHTTP2(streamID: streamID, response, to: method) }
            }
        case .rejected(_, let status):
            services.report(.refused(status: status, reason: HTTPStatus.reason(status)))
        case .reset(let streamID, _), .finished(let streamID): releaseBody(streamID: streamID)
        case .pingAcknowledged: try sayLastStream(session)
        case .goAway, .settingsAcknowledged, .ping: break
        }
    }

    /// Flushes at the end of the loop's turn, so that the answers of one turn share their frames, records and system calls.
    func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        loop.afterTurn { [weak self] in
            self?.assumeIsolated { (connection) in
                connection.isFlushScheduled = false
                connection.advance {
                    if case .http2(let session) = connection.mode { try connection.flushHTTP2(session) }
                }
            }
        }
    }

    func flushHTTP2(_ session: HTTP2ServerSession) throws {
        while hasRoomForOutput {
            var output: [UInt8] = []
            let hasMore = try session.takeOutput(into: &output, limit: Self.outputByteCount)
            if !output.isEmpty { try stream.write(output.span) }
            if output.isEmpty || !hasMore { break }
        }
        // Sending can close streams.
        while let event = session.nextEvent() { try handle(event, session) }
        if hasRoomForOutput { try resumeReading() }
    }

    func finishHTTP2IfDone(_ session: HTTP2ServerSession) throws {
        guard !isFlushScheduled, hasRoomForOutput else { return }
        let isQuiet = session.openStreamCount == 0 && runningCount == 0 && !session.wantsToWrite
        var reason: HTTPConnectionEnd?
        if case .final(let told) = farewell { reason = told }
        if session.isFinished || (isQuiet && isInputEnded) || (isQuiet && reason != nil) {
            try linger(isInputEnded ? .closedByClient : reason ?? .finished)
        } else if isInputEnded, runningCount == bodyStreams.count, !session.wantsToWrite {
            // Requests that were cut short, and streams nobody listens to.
            close(.closedByClient)
        }
    }
}

extension HTTPResponse {
    /// The response as HTTP/2 sends it: with length and date, without fields that belong to a HTTP/1 connection.
    func completed(date: String) -> HTTPResponse {
        var response = self
        for name in ["connection", "keep-alive", "transfer-encoding", "upgrade", "content-length"] where headers[name] != nil {
            response.headers[name] = nil
        }
        if allowsBody, stream == nil { response.headers.append("content-length", String(body.count)) }
        if response.headers["date"] == nil { response.headers.append("date", date) }
        return response
    }
}
