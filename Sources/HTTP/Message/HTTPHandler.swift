/// Answers requests.
///
/// Each request is one task that runs on the event loop of its connection. A client that goes away does not cancel it: what was
/// begun is finished, and the answer is dropped. The connection keeps its place in the server's count until then, so that
/// clients which leave early cannot start more work than the limits allow. A response with a `stream` keeps that place until the
/// stream ends; there the client's leaving ends it.
package protocol HTTPHandler: Sendable {
    func respond(to request: HTTPRequest) async -> HTTPResponse
}
