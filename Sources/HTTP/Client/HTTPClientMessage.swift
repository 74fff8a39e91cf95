/// One request of a client, whole.
package struct HTTPClientRequest: Sendable {
    /// Such as `POST`.
    package var method: String
    /// Path and query as they go on the wire; begins with "/".
    package var path: String
    /// Further fields, lower-case names, in order. Neither `host` nor what belongs to a connection.
    package var fields: [HTTP2Field]
    /// Empty for none: then the head ends the request.
    package var body: [UInt8]
    /// Called on the loop just before the request goes on a stream; false takes it back (`withdrawn`). Nil lets it go.
    package var mayLeave: (@Sendable () -> Bool)?

    /// Puts a request together.
    package init(
        method: String, path: String, fields: [HTTP2Field] = [], body: [UInt8] = [], mayLeave: (@Sendable () -> Bool)? = nil
    ) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
        self.mayLeave = mayLeave
    }

    /// Size of the header list as HTTP/2 counts it, without the authority. Source: RFC 9113, 6.5.2.
    var headerByteCount: Int {
        fields.reduce(method.utf8.count + path.utf8.count + 64) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }
}

/// A final response, whole.
package struct HTTPClientResponse: Sendable, Equatable {
    /// 200 to 999.
    package let status: Int
    /// All fields of the head; trailers are dropped.
    package let headers: HTTPHeaders
    package let body: [UInt8]

    /// Puts a response together.
    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// What became of a request.
package enum HTTPClientResult: Sendable, Equatable {
    /// It was answered, with whatever status.
    case response(HTTPClientResponse)
    /// It was provably not processed: sending it again repeats nothing.
    case notSent(HTTPClientFailure)
    /// It left, or may have, and no usable answer came.
    case unanswered(HTTPClientFailure)
}

/// Why a request has no answer, or why a connection ended.
package enum HTTPClientFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// No connection could be made in the request's time; the reason of the last attempt.
    case noConnection(String)
    /// No stream became free in the request's time.
    case noFreeStream
    /// As many requests wait as the client may hold.
    case tooManyWaiting(limit: Int)
    /// The request's header fields are larger than the limit, in bytes.
    case headersTooLarge(byteLimit: Int)
    /// The client takes no more requests.
    case draining
    /// `mayLeave` said no.
    case withdrawn
    /// The server refused the stream, or went away before it looked at it.
    case refused
    /// No answer came in the request's time.
    case timeout
    /// The connection ended first.
    case connectionLost(String)
    /// The server certificate was not accepted.
    case certificateRejected(String)
    /// The server ended the stream with this HTTP/2 error code.
    case reset(errorCode: UInt32)
    /// The answer is larger than the limit, in bytes.
    case responseTooLarge(byteLimit: Int)

    package var description: String {
        switch self {
        case .noConnection(let reason): "no connection: \(reason)"
        case .noFreeStream: "no stream became free in time"
        case .tooManyWaiting(let limit): "\(limit) requests wait already"
        case .headersTooLarge(let limit): "the request's header fields are larger than \(limit) bytes"
        case .draining: "the client takes no more requests"
        case .withdrawn: "the request was taken back"
        case .refused: "the server did not process the request"
        case .timeout: "no answer in time"
        case .connectionLost(let reason): "the connection ended: \(reason)"
        case .certificateRejected(let reason): "the server's certificate is not accepted: \(reason)"
        case .reset(let code): "the server ended the stream with error \(code)"
        case .responseTooLarge(let limit): "the answer is larger than \(limit) bytes"
        }
    }
}
