import Testing

@testable import HTTP

/// A malformed message and what the parser must say about it.
struct RefusedMessage: Sendable, CustomTestStringConvertible {
    let text: String
    let violation: HTTP1Violation

    init(_ text: String, _ violation: HTTP1Violation) {
        self.text = text
        self.violation = violation
    }

    var testDescription: String { "\(violation.rawValue): \(text.debugDescription.prefix(60))" }

    static func post(_ fields: String, _ body: String = "", _ violation: HTTP1Violation) -> RefusedMessage {
        RefusedMessage("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\(body)", violation)
    }

    static func chunked(_ body: String, _ violation: HTTP1Violation) -> RefusedMessage {
        post("Transfer-Encoding: chunked\r\n", body, violation)
    }

    static let requestLines: [RefusedMessage] = [
        .init("GET /\r\n\r\n", .malformedRequestLine), .init("GET  / HTTP/1.1\r\n\r\n", .malformedRequestLine),
        .init("GET / HTTP/1.1 \r\n\r\n", .malformedRequestLine), .init("GET / HTTP/1.1 x\r\n\r\n", .malformedRequestLine),
        .init("\r\n\r\nGET / HTTP/1.1\r\n\r\n", .malformedRequestLine), .init(" GET / HTTP/1.1\r\n\r\n", .invalidMethod),
        .init("G(T / HTTP/1.1\r\n\r\n", .invalidMethod), .init("\u{16}\u{3}\u{1}", .invalidMethod),
        .init("GET\t/\tHTTP/1.1\r\n\r\n", .invalidMethod), .init("GET / http/1.1\r\n\r\n", .malformedRequestLine),
        .init("GET / HTTP/1.10\r\n\r\n", .malformedRequestLine), .init("GET / HTTP/11\r\n\r\n", .malformedRequestLine),
        .init("GET / HTTP/2.0\r\n\r\n", .unsupportedVersion), .init("GET / HTTP/1.2\r\n\r\n", .unsupportedVersion),
        .init("GET / HTTP/0.9\r\n\r\n", .unsupportedVersion), .init("GET / FTP/1.1\r\n\r\n", .malformedRequestLine),
        .init("GET / HTTP/1.1\n\n", .bareLineFeed), .init("\nGET / HTTP/1.1\r\n\r\n", .bareLineFeed),
        .init("GET /\r/ HTTP/1.1\r\n\r\n", .invalidTarget), .init("GET /a#b HTTP/1.1\r\n\r\n", .invalidTarget),
        .init("GET /\u{7F} HTTP/1.1\r\n\r\n", .invalidTarget), .init("GET /é HTTP/1.1\r\n\r\n", .invalidTarget),
        .init("GET a HTTP/1.1\r\n\r\n", .invalidTarget), .init("GET * HTTP/1.1\r\n\r\n", .invalidTarget),
        .init("GET example.com:80 HTTP/1.1\r\n\r\n", .invalidTarget), .init("GET http:///a HTTP/1.1\r\n\r\n", .invalidTarget),
        .init("GET http://u@h/ HTTP/1.1\r\n\r\n", .invalidTarget), .init("GET ftp://h/ HTTP/1.1\r\n\r\n", .invalidTarget),
        .init("CONNECT h:443 HTTP/1.1\r\n\r\n", .unsupportedMethod),
        .init("\(String(repeating: "M", count: 33)) / HTTP/1.1\r\n\r\n", .unsupportedMethod),
        .init("GET /\(String(repeating: "a", count: 300)) HTTP/1.1\r\n\r\n", .requestLineTooLong),
        .init(String(repeating: "a", count: 300), .requestLineTooLong),
    ]

    static let headers: [RefusedMessage] = [
        .init("GET / HTTP/1.1\r\n\r\n", .missingHost), .init("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .duplicateHost),
        .init("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", .duplicateHost),
        .init("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .invalidHost), .init("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .invalidHost),
        .init("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", .invalidHost), .init("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .foldedHeader),
        .init("GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed), .init("GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
        .post("A: b\r\n c\r\n", "", .foldedHeader), .post("A: b\r\n\tc\r\n", "", .foldedHeader),
        .post("A : b\r\n", "", .invalidHeaderName), .post("A\t: b\r\n", "", .invalidHeaderName),
        .post("A\r\n", "", .invalidHeaderName), .post(": b\r\n", "", .invalidHeaderName),
        .post("A(: b\r\n", "", .invalidHeaderName), .post("Ä: b\r\n", "", .invalidHeaderName),
        .post("A: b\u{0}c\r\n", "", .invalidHeaderValue), .post("A: b\u{1}\r\n", "", .invalidHeaderValue),
        .post("A: b\u{7F}\r\n", "", .invalidHeaderValue), .post("A: b\rc\r\n", "", .invalidHeaderValue),
        .post("A: b\r\r\n", "", .invalidHeaderValue), .post("Expect: 200-ok\r\n", "", .unsupportedExpectation),
        .post("A: \(String(repeating: "a", count: 600))\r\n", "", .headersTooLarge),
        .post(String(repeating: "A: b\r\n", count: 20), "", .tooManyHeaders),
        .post(
            String(repeating: "abcdefgh: abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz\r\n", count: 8), "",
            .headersTooLarge),
    ]

    static let framing: [RefusedMessage] = [
        .post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello", .duplicateContentLength),
        .post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello", .duplicateContentLength),
        .post("Content-Length: 5, 5\r\n", "hello", .invalidContentLength),
        .post("Content-Length: +5\r\n", "hello", .invalidContentLength),
        .post("Content-Length: -5\r\n", "hello", .invalidContentLength),
        .post("Content-Length: 5 5\r\n", "hello", .invalidContentLength),
        .post("Content-Length: 0x5\r\n", "hello", .invalidContentLength),
        .post("Content-Length: 5.0\r\n", "hello", .invalidContentLength),
        .post("Content-Length: 5;\r\n", "hello", .invalidContentLength), .post("Content-Length:\r\n", "", .invalidContentLength),
        .post("Content-Length: ٥\r\n", "hello", .invalidContentLength),
        .post("Content-Length: 99999999999999999999\r\n", "", .invalidContentLength),
        .post("Content-Length: 65\r\n", "", .bodyTooLarge), .post("Content-Length: 9223372036854775807\r\n", "", .bodyTooLarge),
        .post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", .contentLengthWithTransferEncoding),
        .post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n", .contentLengthWithTransferEncoding),
        .post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", .duplicateTransferEncoding),
        .post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n", .duplicateTransferEncoding),
        .post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", .unsupportedTransferEncoding),
        .post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n", .unsupportedTransferEncoding),
        .post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n", .unsupportedTransferEncoding),
        .post("Transfer-Encoding: \u{B}chunked\r\n", "0\r\n\r\n", .invalidHeaderValue),
        .post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n", .unsupportedTransferEncoding),
        .post("Transfer-Encoding:\r\n", "0\r\n\r\n", .unsupportedTransferEncoding),
        .post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n", .invalidHeaderName),
        .post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n", .foldedHeader),
        .init("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .unexpectedTransferEncoding),
    ]

    static let chunks: [RefusedMessage] = [
        .chunked("\r\n", .invalidChunk), .chunked("x\r\n", .invalidChunk), .chunked("0x1\r\na\r\n", .invalidChunk),
        .chunked("-1\r\na\r\n", .invalidChunk),
        .chunked("+1\r\na\r\n", .invalidChunk), .chunked(" 1\r\na\r\n", .invalidChunk), .chunked("1 \r\na\r\n", .invalidChunk),
        .chunked("1\na\r\n", .bareLineFeed), .chunked("1\r\na\n", .bareLineFeed), .chunked("1\r\nab\r\n", .invalidChunk),
        .chunked("1\r\na\r\r\n", .invalidChunk),
        .chunked("5\r\nhel\r\n0\r\n\r\n", .invalidChunk), .chunked("1;a\u{0}\r\na\r\n", .invalidChunk),
        .chunked("00000000000000001\r\na\r\n", .invalidChunk), .chunked("ffffffffffffffff\r\n", .bodyTooLarge),
        .chunked("8000000000000000\r\n", .bodyTooLarge), .chunked("41\r\n", .bodyTooLarge),
        .chunked("20\r\n\(String(repeating: "a", count: 32))\r\n21\r\n", .bodyTooLarge),
        .chunked("1;\(String(repeating: "a", count: 40))\r\n", .invalidChunk),
        .chunked(String(repeating: "1;abcdefghijkl\r\na\r\n", count: 8), .chunkOverheadTooLarge),
        .chunked("0\r\nA: \(String(repeating: "a", count: 100))\r\n\r\n", .chunkOverheadTooLarge),
        .chunked("0\r\n\(String(repeating: "A: bcdefghij\r\n", count: 8))\r\n", .chunkOverheadTooLarge),
        .chunked("0\r\nA : b\r\n\r\n", .invalidHeaderName), .chunked("0\r\nA: b\r\n c\r\n\r\n", .foldedHeader),
        .chunked("0\r\nA: b\n\r\n", .bareLineFeed),
        .chunked("0\r\n\n", .bareLineFeed),
    ]
}

@Suite("HTTP/1 parser") struct HTTP1RefusalTests {
    static let limits: HTTPServerLimits = {
        var limits = HTTPServerLimits()
        limits.requestLineByteCount = 200
        limits.headerByteCount = 512
        limits.headerCount = 16
        limits.bodyByteCount = 64
        limits.chunkLineByteCount = 32
        limits.chunkOverheadByteCount = 64
        return limits
    }()

    @Test(
        "refuses, however the bytes are cut,",
        arguments: RefusedMessage.requestLines + RefusedMessage.headers + RefusedMessage.framing + RefusedMessage.chunks)
    func refuses(message: RefusedMessage) {
        for result in ParsedMessages.ofEveryCut(message.text, limits: Self.limits) {
            #expect(result.violation == message.violation)
            #expect(result.requests == [])
        }
    }

    @Test("never reads a request behind a refused one", arguments: RefusedMessage.framing)
    func smuggling(message: RefusedMessage) {
        let text = message.text + "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(ParsedMessages([Array(text.utf8)[...]], limits: Self.limits).requests == [])
    }

    @Test("has a promised status for every violation", arguments: HTTP1Violation.allCases)
    func status(violation: HTTP1Violation) {
        #expect([400, 413, 414, 417, 431, 501, 505].contains(violation.status))
        #expect(!HTTPStatus.reason(violation.status).isEmpty)
    }
}
