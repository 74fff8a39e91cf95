@testable import HTTP

/// What came out of a parser, in a form that two runs can be compared by.
struct ParsedMessages: Equatable {
    var requests: [HTTPRequest] = []
    var persistence: [Bool] = []
    var violation: HTTP1Violation?
    var phase: HTTP1RequestParser.Phase

    /// Feeds the pieces one after another, reading all that can be read after each.
    init(_ pieces: [ArraySlice<UInt8>], limits: HTTPServerLimits = HTTPServerLimits()) {
        var parser = HTTP1RequestParser(limits: limits)
        phase = .idle
        for piece in pieces {
            parser.receive(piece)
            reading: while violation == nil {
                switch parser.next() {
                case .needsInput: break reading
                case .continueExpected: continue
                case .request(let request, let isPersistent):
                    requests.append(request)
                    persistence.append(isPersistent)
                case .refused(let violation): self.violation = violation
                }
            }
        }
        phase = parser.phase
    }

    /// One run with the whole text, then one for every place it can be cut in two, and one byte by byte; they must agree.
    static func ofEveryCut(_ text: String, limits: HTTPServerLimits = HTTPServerLimits()) -> [ParsedMessages] {
        let bytes = Array(text.utf8)
        var results = [ParsedMessages([bytes[...]], limits: limits)]
        for cut in bytes.indices { results.append(ParsedMessages([bytes[..<cut], bytes[cut...]], limits: limits)) }
        results.append(ParsedMessages(bytes.indices.map { bytes[$0...$0] }, limits: limits))
        return results
    }
}
