package import HTTP

extension TestHTTPClient {
    func sendHTTP1(_ method: String, _ path: String, headers: HTTPHeaders, body: [UInt8]) throws -> Response {
        let socket = try TestSocket(port: port, tls: tls.map { (host, $0) }, timeoutSeconds: timeoutSeconds)
        try socket.send(Self.http1Request(method, path, headers: headers, body: body, host: "\(host):\(port)"))
        var reader = TestHTTPResponseReader()
        return try reader.next(from: socket, method: method)
    }

    /// The bytes of a request, with Host and, for a body or a method that implies one, Content-Length.
    package static func http1Request(
        _ method: String, _ path: String, headers: HTTPHeaders = [:], body: [UInt8] = [], host: String = "localhost"
    ) -> [UInt8] {
        var text = "\(method) \(path) HTTP/1.1\r\n"
        if headers["host"] == nil { text += "Host: \(host)\r\n" }
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        let implied = ["POST", "PUT", "PATCH"].contains(method)
        if !body.isEmpty || implied, headers["transfer-encoding"] == nil { text += "Content-Length: \(body.count)\r\n" }
        return Array((text + "\r\n").utf8) + body
    }
}

/// Reads responses from a connection, one after another; bytes behind a response are kept for the next.
package struct TestHTTPResponseReader {
    private var buffer: [UInt8] = []

    package init() {}

    /// - Parameter method: of the request: a response to HEAD has no body.
    package mutating func next(from socket: TestSocket, method: String = "GET") throws -> TestHTTPClient.Response {
        while true {
            let (status, headers) = try readHead(from: socket)
            if (100...199).contains(status) { continue }
            var body: [UInt8] = []
            if method != "HEAD", status != 204, status != 304 {
                if headers["transfer-encoding"] == "chunked" {
                    body = try readChunks(from: socket)
                } else if let length = headers["content-length"] {
                    guard let count = Int(length) else { throw TestHTTPClient.Failure("bad length \(length)") }
                    while buffer.count < count { try readMore(from: socket) }
                    body = Array(buffer[..<count])
                    buffer.removeFirst(count)
                } else {
                    let (rest, isClosed) = socket.receiveToEnd()
                    guard isClosed else { throw TestHTTPClient.Failure("no length and no end") }
                    body = buffer + rest
                    buffer = []
                }
            }
            return TestHTTPClient.Response(status: status, headers: headers, body: body)
        }
    }

    /// A chunked body to its end.
    private mutating func readChunks(from socket: TestSocket) throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let line = try readLine(from: socket)
            guard let count = Int(line, radix: 16) else { throw TestHTTPClient.Failure("bad chunk \(line)") }
            while buffer.count < count + 2 { try readMore(from: socket) }
            body += buffer[..<count]
            buffer.removeFirst(count + 2)
            if count == 0 { return body }
        }
    }

    private mutating func readLine(from socket: TestSocket) throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\r")), end + 1 < buffer.count {
                defer { buffer.removeFirst(end + 2) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            try readMore(from: socket)
        }
    }

    /// The next head, interim ones included.
    package mutating func readHead(from socket: TestSocket) throws -> (status: Int, headers: HTTPHeaders) {
        var end = Self.endOfHead(buffer)
        while end == nil {
            try readMore(from: socket)
            end = Self.endOfHead(buffer)
        }
        let count = end ?? 0
        let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\r\n")
        buffer.removeFirst(count)
        let statusLine = lines.first?.split(separator: " ") ?? []
        guard statusLine.count >= 2, let status = Int(statusLine[1]) else { throw TestHTTPClient.Failure("bad status line") }
        var headers: HTTPHeaders = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw TestHTTPClient.Failure("bad header line \(line)") }
            headers.append(String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
        return (status, headers)
    }

    private mutating func readMore(from socket: TestSocket) throws {
        guard let bytes = try socket.receive() else { throw TestHTTPClient.Failure("no response in time") }
        guard !bytes.isEmpty else { throw TestHTTPClient.Failure("closed before the response was complete") }
        buffer += bytes
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let end = (0...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual("\r\n\r\n".utf8) }
        return end.map { $0 + 4 }
    }
}
