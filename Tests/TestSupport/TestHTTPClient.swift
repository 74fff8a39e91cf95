import Foundation
package import HTTP

/// A HTTP client for tests that shares no protocol code with what it tests: HTTP/1.1 is spoken by hand over a blocking socket,
/// HTTP/2 by curl. Each request has a connection and a thread of its own, so any number can run at once.
package struct TestHTTPClient: Sendable {
    package enum Version: Sendable {
        case http1
        /// By prior knowledge in clear, by ALPN with TLS. Needs curl.
        case http2
    }

    /// A response; of interim ones (1xx) nothing is kept.
    package struct Response: Sendable, Equatable {
        package let status: Int
        package let headers: HTTPHeaders
        package let body: [UInt8]
        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        package init(_ description: String) { self.description = description }
    }

    package let port: UInt16
    package let host: String
    /// PEM of the certificate authority to trust; nil speaks in clear.
    package let tls: [UInt8]?
    package let version: Version
    /// How long one request may take, in seconds.
    package var timeoutSeconds = 30

    package init(port: UInt16, host: String = "127.0.0.1", tls: [UInt8]? = nil, version: Version = .http1) {
        self.port = port
        self.host = host
        self.tls = tls
        self.version = version
    }

    /// Sends one request and reads its whole response.
    package func send(
        _ method: String, _ path: String, headers: HTTPHeaders = [:], body: [UInt8] = []
    ) async throws -> Response {
        try await onThread {
            switch version {
            case .http1: try sendHTTP1(method, path, headers: headers, body: body)
            case .http2: try sendWithCurl(method, path, headers: headers, body: body)
            }
        }
    }

    package func send(_ method: String, _ path: String, headers: HTTPHeaders = [:], body: String) async throws -> Response {
        try await send(method, path, headers: headers, body: Array(body.utf8))
    }

    /// Sends bytes as they are, ends its direction when `ending` says so, and reads until the server closes or the time is over.
    package func exchange(
        raw bytes: [UInt8], ending: Bool = false, timeoutSeconds: Int = 10
    ) async throws -> (received: [UInt8], isClosed: Bool) {
        try await onThread {
            let socket = try TestSocket(port: port, tls: tls.map { (host, $0) }, timeoutSeconds: timeoutSeconds)
            try socket.send(bytes)
            if ending { socket.endSending() }
            return socket.receiveToEnd()
        }
    }
}

/// Runs blocking work on a thread of its own.
package func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
