import Networking

/// The time limits of a connection.
extension HTTPConnection {
    private enum Expiry {
        case wait(ConnectionDeadline.Wait)
        case output
        case streams
        case goAway
    }

    func updateDeadline() {
        let now = ContinuousClock.now
        deadline.observe(currentWait, unsentByteCount: stream.unsentByteCount, now: now)
        guard let next = nextExpiry() else { return }
        deadline.arm(for: next.at, now: now, on: loop) { [weak self] in
            self?.assumeIsolated { (connection) in
                connection.deadline.fired()
                connection.checkDeadline()
            }
        }
    }

    private var currentWait: ConnectionDeadline.Wait {
        switch mode {
        case .handshaking: return .handshake
        case .undecided(let bytes): return bytes.isEmpty ? .request : .headers
        case .http1:
            if runningCount > 0 { return .handler }
            switch parser.phase {
            case .idle: return .request
            case .headers: return .headers
            case .body: return .body
            }
        case .http2(let session): return session.openStreamCount > 0 || runningCount > 0 ? .handler : .request
        case .lingering, .closed: return .linger
        }
    }

    private func nextExpiry() -> (at: ContinuousClock.Instant, Expiry)? {
        var next: (at: ContinuousClock.Instant, Expiry)?
        func consider(_ instant: ContinuousClock.Instant, _ expiry: Expiry) {
            if next.map({ instant < $0.at }) ?? true { next = (instant, expiry) }
        }
        switch deadline.wait {
        case .handshake: consider(deadline.since + limits.handshakeTimeout, .wait(.handshake))
        case .request:
            // A client that is told to go is not told again.
            if case .none = farewell { consider(deadline.since + limits.idleTimeout, .wait(.request)) }
        case .headers: consider(deadline.since + limits.headerTimeout, .wait(.headers))
        case .body: consider(deadline.since + limits.bodyTimeout, .wait(.body))
        case .handler: break
        case .linger:
            if stream.unsentByteCount == 0 {
                let sentAt = max(deadline.since, deadline.outputProgressedAt)
                let quietSince = max(sentAt, deadline.inputProgressedAt)
                consider(min(quietSince + limits.lingerTimeout, sentAt + limits.lingerLimit), .wait(.linger))
            }
        }
        if stream.unsentByteCount > 0 { consider(deadline.outputProgressedAt + limits.writeTimeout, .output) }
        if case .http2(let session) = mode {
            if case .announced(let instant, _) = farewell { consider(instant + limits.goAwayTimeout, .goAway) }
            if let oldest = session.oldestIncompleteRequest { consider(oldest + limits.bodyTimeout, .streams) }
            if let oldest = session.oldestUnsentResponse { consider(oldest + limits.writeTimeout, .streams) }
        }
        return next
    }

    private func checkDeadline() {
        guard let next = nextExpiry() else { return }
        guard next.at <= .now else { return updateDeadline() }
        switch next.1 {
        case .output: close(.writeTimeout)
        case .streams: advance { try expireStreams() }
        case .goAway: advance { try endAnnounced() }
        case .wait(.handshake): close(.handshakeTimeout)
        case .wait(.linger): close(endReason)
        case .wait(.request): advance { try endIdle() }
        case .wait(.headers), .wait(.body):
            services.report(.refused(status: 408, reason: "request too slow"))
            advance { try sendLast(.refusal(408), method: "", reason: .requestTimeout) }
        case .wait(.handler): break
        }
    }

    private func endIdle() throws {
        guard case .http2(let session) = mode else { return try linger(.idle) }
        try announceEnd(session, .idle)
    }

    private func endAnnounced() throws {
        guard case .http2(let session) = mode else { return }
        try sayLastStream(session)
        try flushHTTP2(session)
    }

    private func expireStreams() throws {
        guard case .http2(let session) = mode else { return }
        let now = ContinuousClock.now
        try session.expireRequests(startedBy: now - limits.bodyTimeout)
        try session.expireResponses(stalledSince: now - limits.writeTimeout)
        while let event = session.nextEvent() {
            if case .rejected(_, let status) = event { services.report(.refused(status: status, reason: "request too slow")) }
        }
        try flushHTTP2(session)
    }
}
