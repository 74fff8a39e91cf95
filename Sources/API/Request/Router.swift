import HTTP

/// Finds the route of a request by its method and its path segments.
enum Router {
    /// What a request asks for.
    enum Match: Equatable, Sendable {
        /// The route, and the segments that stand for its parameters, decoded and never empty.
        case found(Route, parameters: [String])
        /// The path is known, with these methods; errors have the shape of its first route.
        case methodNotAllowed([String], Envelope)
        case notFound
    }

    private struct Entry: Sendable {
        let route: Route
        let method: String
        let pattern: [String]
    }

    /// All routes by the number of their segments, in their order.
    private static let entries = Dictionary(
        grouping: Route.allCases.map { Entry(route: $0, method: $0.method, pattern: $0.pattern) }, by: \.pattern.count)

    static func match(_ request: HTTPRequest) -> Match {
        guard let segments = request.pathSegments, let entries = entries[segments.count] else { return .notFound }
        var methods: [String] = []
        var envelope: Envelope?
        for entry in entries {
            guard let parameters = parameters(of: entry.pattern, in: segments) else { continue }
            if entry.method == request.method || (entry.method == "GET" && request.method == "HEAD") {
                return .found(entry.route, parameters: parameters)
            }
            envelope = envelope ?? entry.route.envelope
            for method in entry.method == "GET" ? ["GET", "HEAD"] : [entry.method] where !methods.contains(method) {
                methods.append(method)
            }
        }
        return envelope.map { .methodNotAllowed(methods, $0) } ?? .notFound
    }

    /// The shape of errors for a path that is no route.
    static func envelope(for request: HTTPRequest) -> Envelope {
        let isIn = { (root: String) in request.path == root || request.path.hasPrefix("\(root)/") }
        if isIn("/v1/live_notifications") { return .meta }
        if isIn("/v1.0") || isIn("/core-services") { return .error }
        return isIn("/apps") || isIn("/notifications") ? .errors : .detail
    }

    private static func parameters(of pattern: [String], in segments: [String]) -> [String]? {
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
