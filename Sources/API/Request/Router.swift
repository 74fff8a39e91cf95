import HTTP

/// Finds the route of a request by its method and its path segments.
enum Router {
    /// What a request asks for.
    enum Match: Equatable, Sendable {
        /// The route, and the segments that stand for its parameters, decoded and never empty.
        case found(Route, parameters: [String])
        /// The path is known, with these methods.
        case methodNotAllowed([String])
        case notFound
    }

    static func match(_ request: HTTPRequest) -> Match {
        guard let segments = request.pathSegments else { return .notFound }
        var methods: [String] = []
        for route in Route.allCases {
            guard let parameters = parameters(of: route.pattern, in: segments) else { continue }
            if route.method == request.method || (route.method == "GET" && request.method == "HEAD") {
                return .found(route, parameters: parameters)
            }
            methods.append(contentsOf: route.method == "GET" ? ["GET", "HEAD"] : [route.method])
        }
        return methods.isEmpty ? .notFound : .methodNotAllowed(methods)
    }

    /// The shape of errors for a path that is no route.
    static func envelope(for request: HTTPRequest) -> Envelope {
        ["/apps", "/notifications"].contains { request.path == $0 || request.path.hasPrefix("\($0)/") } ? .errors : .detail
    }

    private static func parameters(of pattern: [String], in segments: [String]) -> [String]? {
        guard pattern.count == segments.count else { return nil }
        var parameters: [String] = []
        for (expected, segment) in zip(pattern, segments) {
            if expected.utf8.first == UInt8(ascii: ":") {
                guard !segment.isEmpty else { return nil }
                parameters.append(segment)
            } else if !expected.utf8.elementsEqual(segment.utf8) {
                return nil
            }
        }
        return parameters
    }
}
