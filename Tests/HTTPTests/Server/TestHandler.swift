import HTTP
import Synchronization

/// Answers a few paths, and can hold answers back until a test lets them go.
final class TestHandler: HTTPHandler {
    /// Targets of the requests whose handlers have begun.
    let started = Record<String>()
    /// Bodies that are streamed, and the targets of those that were let go of.
    let streams = Record<HTTPBodyStream>()
    let released = Record<String>()
    private let gate = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        started.append(request.target)
        switch request.path {
        case "/hello": return HTTPResponse(status: 200, headers: ["x-test": "1"], body: Array("hello".utf8))
        case "/echo":
            let headers: HTTPHeaders = [
                "x-method": request.method, "x-target": request.target, "x-version": "\(request.version)",
                "x-authority": request.authority ?? "-",
            ]
            return HTTPResponse(status: 201, headers: headers, body: request.body)
        case "/nothing": return HTTPResponse(status: 204)
        case "/wait":
            await passGate()
            return HTTPResponse(status: 200, body: Array(request.target.utf8))
        case "/large":
            return HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: Int(request.queryValue("bytes") ?? "") ?? 0))
        case "/stream":
            let stream = HTTPBodyStream { [released] in released.append(request.target) }
            streams.append(stream)
            let body = [UInt8](repeating: 0x61, count: Int(request.queryValue("bytes") ?? "") ?? 0)
            return HTTPResponse(status: 200, headers: ["content-type": "text/event-stream"], body: body, stream: stream)
        default: return HTTPResponse(status: 404)
        }
    }

    /// Lets every held answer go, now and later.
    func release() {
        let waiting = gate.withLock { (gate) -> [CheckedContinuation<Void, Never>] in
            defer { gate = (true, []) }
            return gate.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private func passGate() async {
        await withCheckedContinuation { continuation in
            let isOpen = gate.withLock { (gate) -> Bool in
                if !gate.isOpen { gate.waiting.append(continuation) }
                return gate.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
