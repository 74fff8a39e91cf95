extension HTTP2ServerSession {
    /// Answers 408 to requests that began at `deadline` or before and are still incomplete.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func expireRequests(startedBy deadline: ContinuousClock.Instant) throws(HTTP2Error) -> Int {
        let late = streams.filter { $0.value.isIncomplete && $0.value.startedAt <= deadline }.map(\.key)
        for streamID in late {
            if streams[streamID]?.phase == .receivingHeaders {
                // The header block is cut in the middle of a frame sequence: no stream can be answered any more.
                try goAway(errorCode: HTTP2ErrorCode.enhanceYourCalm)
                try reset(streamID: streamID, errorCode: HTTP2ErrorCode.cancel)
            } else {
                try reject(streamID: streamID, status: 408)
            }
        }
        return late.count
    }

    /// Resets streams whose response has made no progress since `deadline` because the peer grants no window.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func expireResponses(stalledSince deadline: ContinuousClock.Instant) throws(HTTP2Error) -> Int {
        let stalled = streams.filter { $0.value.unsentSince.map { $0 <= deadline } ?? false }
        for streamID in stalled.keys { try reset(streamID: streamID, errorCode: HTTP2ErrorCode.cancel) }
        return stalled.count
    }

    /// When the oldest request began that is still incomplete; nil when there is none.
    package var oldestIncompleteRequest: ContinuousClock.Instant? {
        streams.values.lazy.filter(\.isIncomplete).map(\.startedAt).min()
    }

    /// When the response that waits longest made its last progress; nil when no response is being sent.
    package var oldestUnsentResponse: ContinuousClock.Instant? {
        streams.values.lazy.compactMap(\.unsentSince).min()
    }
}
