import Networking

/// HTTP/1 on a connection: one request after another, in order.
extension HTTPConnection {
    func startHTTP1() { mode = .http1 }

    func receiveHTTP1(_ input: [UInt8]) throws {
        parser.receive(input[...])
        try serveHTTP1()
        // A client that sends more while its request is being answered waits in its own buffers.
        if case .http1 = mode, runningCount > 0 || !hasRoomForOutput { pauseReading() }
    }

    func serveHTTP1() throws {
        while case .http1 = mode, runningCount == 0, hasRoomForOutput {
            switch parser.next() {
            case .needsInput: return try resumeReading()
            case .continueExpected:
                let interim = HTTP1ResponseWriter.continueResponse
                try stream.write(interim.span)
            case .request(let request, let isPersistent):
                guard countMemory(next: request.body.count) else { return try refuseForMemory() }
                respond(to: request, isPersistent: isPersistent)
            case .refused(let violation):
                services.report(.refused(status: violation.status, reason: violation.rawValue))
                try sendLast(.refusal(violation.status, reason: violation.rawValue), method: "", reason: .finished)
            }
        }
    }

    private func respond(to request: HTTPRequest, isPersistent: Bool) {
        let method = request.method
        let isChunked = request.version != .http10
        start(request) { (connection, response) in
            connection.advance {
                let goesOn =
                    isPersistent && !connection.isDraining
                    && (!connection.isInputEnded || connection.parser.unreadByteCount > 0)
                if let body = response.stream {
                    let framing = HTTP1BodyFraming(isChunked: isChunked, isPersistent: goesOn && isChunked)
                    try connection.sendStreamed(response, body, to: method, framing: framing)
                    try connection.serveHTTP1()
                } else if goesOn {
                    try connection.send(response, method: method, closes: false)
                    try connection.serveHTTP1()
                } else {
                    try connection.sendLast(response, method: method, reason: .finished)
                }
            }
        }
    }

    func send(_ response: HTTPResponse, method: String, closes: Bool, isChunked: Bool = true) throws {
        var output: [UInt8] = []
        HTTP1ResponseWriter.append(
            response, method: method, closes: closes, isChunked: isChunked, date: services.dates.text, to: &output)
        try stream.write(output.span)
    }

    /// Answers, and ends the connection.
    func sendLast(_ response: HTTPResponse, method: String, reason: HTTPConnectionEnd, isChunked: Bool = true) throws {
        try send(response, method: method, closes: true, isChunked: isChunked)
        try linger(reason)
    }

    func finishHTTP1IfDone() throws {
        // Whoever listens to a stream keeps its side open.
        if isInputEnded, !bodyStreams.isEmpty { return close(.closedByClient) }
        guard runningCount == 0 else { return }
        if isInputEnded {
            // Whatever was whole has been answered; the rest of a request never comes.
            guard hasRoomForOutput else { return }
            try linger(.closedByClient)
        } else if isDraining, parser.phase == .idle {
            try linger(.finished)
        }
    }
}
