/// The newest requests, bounded in number and in bytes.
struct RequestRing {
    private var requests: [RecordedRequest] = []
    /// Position in `requests` of the oldest one kept.
    private var head = 0
    /// Number of the next request whose header fields and body make room when there are too many bytes.
    private var nextToStrip = 1
    private(set) var byteCount = 0
    /// How many were ever appended.
    private(set) var lastNumber = 0

    /// How many are kept.
    var count: Int { requests.count - head }

    /// Number of the oldest request kept.
    private var firstNumber: Int { lastNumber - count + 1 }

    /// Numbers a request that is not kept; nothing older is kept either, so that numbers have no gaps.
    mutating func skip() {
        requests = []
        head = 0
        byteCount = 0
        lastNumber += 1
        nextToStrip = lastNumber + 1
    }

    /// Appends a request and drops what exceeds the bounds; answers its number.
    mutating func append(_ request: RecordedRequest, limit: Int, byteLimit: Int) -> Int {
        lastNumber += 1
        requests.append(request)
        requests[requests.count - 1].number = lastNumber
        byteCount += request.requestByteCount
        while byteCount > byteLimit, nextToStrip <= lastNumber { stripOldest() }
        while count > max(limit, 1) { dropOldest() }
        return lastNumber
    }

    private mutating func stripOldest() {
        if let position = position(of: nextToStrip) {
            byteCount -= requests[position].requestByteCount
            requests[position].request = nil
        }
        nextToStrip += 1
    }

    private mutating func dropOldest() {
        byteCount -= requests[head].requestByteCount
        requests[head].request = nil
        head += 1
        if head > 1024, head > requests.count / 2 {
            requests.removeFirst(head)
            head = 0
        }
    }

    private func position(of number: Int) -> Int? {
        number >= firstNumber && number <= lastNumber ? head + number - firstNumber : nil
    }

    /// Changes the outcome of a request that is still kept; answers the request as it is now.
    mutating func settle(_ number: Int, _ outcome: RecordedRequest.Outcome) -> RecordedRequest? {
        guard let position = position(of: number) else { return nil }
        requests[position].outcome = outcome
        return requests[position]
    }

    /// The first `limit` matches, oldest first.
    func select(_ query: RequestQuery, limit: Int) -> [RecordedRequest] {
        let start = max(head, head + query.since - firstNumber + 1)
        guard start < requests.count, limit > 0 else { return [] }
        return Array(requests[start...].lazy.filter { query.matches($0) }.prefix(limit))
    }

    /// How many match.
    func count(matching query: RequestQuery, upTo limit: Int) -> Int {
        let start = max(head, head + query.since - firstNumber + 1)
        guard start < requests.count else { return 0 }
        return requests[start...].lazy.filter { query.matches($0) }.prefix(limit).reduce(0) { count, _ in count + 1 }
    }
}
