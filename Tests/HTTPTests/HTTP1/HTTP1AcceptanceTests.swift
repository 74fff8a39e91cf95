import Testing

@testable import HTTP

@Suite("HTTP/1 parser") struct HTTP1AcceptanceTests {
    /// Parses a text that holds one good request, in every cut.
    func one(_ text: String) throws -> (request: HTTPRequest, isPersistent: Bool) {
        let results = ParsedMessages.ofEveryCut(text)
        for result in results { #expect(result == results[0]) }
        #expect(results[0].violation == nil)
        #expect(results[0].phase == .idle)
        let request = try #require(results[0].requests.first)
        return (request, results[0].persistence == [true])
    }

    @Test("reads a request without a body") func plain() throws {
        let (request, isPersistent) = try one("GET /a?b=c HTTP/1.1\r\nHost: h:1\r\nX-A:  b c \t\r\nx-a:\r\n\r\n")
        #expect(request.method == "GET")
        #expect(request.target == "/a?b=c")
        #expect(
            request.headers.fields == [
                .init(name: "host", value: "h:1"), .init(name: "x-a", value: "b c"), .init(name: "x-a", value: ""),
            ])
        #expect(request.body == [])
        #expect(request.version == .http11)
        #expect(request.authority == "h:1")
        #expect(isPersistent)
    }

    @Test(
        "reads a body by length and by chunks",
        arguments: [
            ("Content-Length: 5", "hello"), ("content-length: 005", "hello"),
            ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
            ("transfer-encoding: Chunked", "1\r\nh\r\n0004\r\nello\r\n000\r\n\r\n"),
            ("Transfer-Encoding: chunked", "5;a=\"b\"\r\nhello\r\n0;x\r\nTrailer: dropped\r\nHost: evil\r\n\r\n"),
            ("Transfer-Encoding: chunked", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        ])
    func bodies(field: String, body: String) throws {
        let (request, isPersistent) = try one("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n\(body)")
        #expect(request.body == Array("hello".utf8))
        #expect(request.headers.count == 2)
        #expect(isPersistent)
    }

    @Test("keeps line ends and anything else inside a body") func opaque() throws {
        let body = "\n\r\n\u{0}GET / HTTP/1.1\r\n\r\n"
        let (request, _) = try one("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(request.body == Array(body.utf8))
    }

    @Test(
        "knows when the connection ends",
        arguments: [
            ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: keep-alive\r\n", true),
            ("HTTP/1.1", "Connection: close\r\n", false),
            ("HTTP/1.1", "Connection: x , CLOSE\r\n", false), ("HTTP/1.1", "Connection: a\r\nConnection: close\r\n", false),
            ("HTTP/1.1", "Connection: closed\r\n", true), ("HTTP/1.0", "", false),
            ("HTTP/1.0", "Connection: keep-alive\r\n", false),
        ])
    func persistence(version: String, fields: String, expected: Bool) throws {
        #expect(try one("GET / \(version)\r\nHost: h\r\n\(fields)\r\n").isPersistent == expected)
    }

    @Test(
        "takes the path of an absolute form",
        arguments: [
            ("GET http://a/b?c HTTP/1.1", "/b?c"), ("GET HTTPS://a:1?c HTTP/1.1", "/?c"), ("GET http://a HTTP/1.1", "/"),
            ("OPTIONS http://a HTTP/1.1", "*"), ("OPTIONS * HTTP/1.1", "*"), ("GET //a HTTP/1.1", "//a"),
        ])
    func targets(line: String, target: String) throws {
        let request = try one("\(line)\r\nHost: h\r\n\r\n").request
        #expect(request.target == target)
    }

    @Test("accepts HTTP/1.0 without Host, and one empty line before a request") func lenient() throws {
        #expect(try one("\r\nGET / HTTP/1.0\r\n\r\n").request.version == .http10)
        #expect(try one("GET / HTTP/1.1\r\nHost:\r\n\r\n").request.authority == "")
    }

    @Test("reads pipelined requests in order") func pipelining() {
        let text =
            "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n"
        for result in ParsedMessages.ofEveryCut(text) {
            #expect(result.violation == nil)
            #expect(result.requests.map(\.target) == ["/1", "/2", "/3"])
            #expect(result.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["ab", "c", ""])
        }
    }

    @Test("says what it waits for") func phases() {
        var parser = HTTP1RequestParser(limits: HTTPServerLimits())
        #expect(parser.phase == .idle)
        for (text, phase) in [
            ("P", .headers), ("OST / HTTP/1.1\r\n", .headers), ("Host: h\r\nContent-Length: 2\r\n", .headers), ("\r\n", .body),
            ("a", .body),
        ]
            as [(String, HTTP1RequestParser.Phase)]
        {
            parser.receive(Array(text.utf8)[...])
            #expect(parser.next() == .needsInput)
            #expect(parser.phase == phase)
        }
        parser.receive([0x62])
        guard case .request(_, isPersistent: true) = parser.next() else {
            Issue.record("the request was not complete")
            return
        }
        #expect(parser.phase == .idle)
    }

    @Test("asks once for a body that is held back") func continuation() {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
        var parser = HTTP1RequestParser(limits: HTTPServerLimits())
        parser.receive(Array(head.utf8)[...])
        #expect(parser.next() == .continueExpected)
        #expect(parser.next() == .needsInput)
        parser.receive([0x61])
        #expect(parser.next() == .needsInput)

        var unasked = HTTP1RequestParser(limits: HTTPServerLimits())
        unasked.receive(Array((head + "a").utf8)[...])
        #expect(unasked.next() == .needsInput)
    }
}

@Suite("HTTP/1 response") struct HTTP1ResponseWriterTests {
    func write(_ response: HTTPResponse, method: String = "GET", closes: Bool = false) -> String {
        var output: [UInt8] = []
        HTTP1ResponseWriter.append(response, method: method, closes: closes, date: "now", to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test("carries its length, the date and its body") func plain() {
        let response = HTTPResponse(
            status: 201, headers: ["x": "y", "content-length": "7", "connection": "z"], body: Array("ab".utf8))
        #expect(write(response) == "HTTP/1.1 201 Created\r\nx: y\r\ncontent-length: 2\r\ndate: now\r\n\r\nab")
    }

    @Test("to HEAD has the length but no body") func head() {
        let text = write(HTTPResponse(status: 200, body: Array("ab".utf8)), method: "HEAD", closes: true)
        #expect(text == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: now\r\nconnection: close\r\n\r\n")
    }

    @Test("with 204 has neither") func noContent() {
        #expect(write(HTTPResponse(status: 204, body: [1])) == "HTTP/1.1 204 No Content\r\ndate: now\r\n\r\n")
    }
}

@Suite("Date") struct HTTPDateTests {
    @Test(
        "is written as RFC 9110 says",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        ])
    func text(seconds: Int, expected: String) {
        #expect(HTTPDate.text(secondsSince1970: seconds) == expected)
    }
}
