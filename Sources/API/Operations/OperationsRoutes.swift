import HTTP
import JSON
import Observability

/// One part the daemon needs in order to serve.
package struct ReadinessPart: Hashable, Sendable {
    /// Its name in answers, such as `database`.
    package let name: String
    /// Whether it works now.
    package let isReady: Bool
    /// Why not, and what to do, where that is known.
    package let reason: String?
    /// Puts all together.
    package init(name: String, isReady: Bool, reason: String? = nil) {
        self.name = name
        self.isReady = isReady
        self.reason = reason
    }
    fileprivate var text: String { isReady ? "ready" : reason.map { "not ready: \($0)" } ?? "not ready" }
}

/// What operators and their probes ask.
struct OperationsRoutes: Sendable {
    /// Looks at every part; must answer within a second or two.
    let readiness: @Sendable () async -> [ReadinessPart]
    let metrics: Metrics

    /// The process answers; says nothing of the parts.
    func live() -> HTTPResponse { .json(status: 200) { $0.member("status", "ok") } }

    /// 200 when every part is ready, else 503, with the state of each.
    func ready() async -> HTTPResponse {
        let parts = await readiness()
        let isReady = parts.allSatisfy(\.isReady)
        return .json(status: isReady ? 200 : 503) { writer in
            writer.member("status", isReady ? "ready" : "not ready")
            writer.key("parts")
            writer.beginObject()
            for part in parts { writer.member(part.name, part.text) }
            writer.endObject()
        }
    }

    /// The OpenAPI description of every route.
    func description() -> HTTPResponse {
        HTTPResponse(status: 200, headers: ["content-type": "application/json"], body: OpenAPIDocument.bytes)
    }

    func prometheus() -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: ["content-type": "text/plain; version=0.0.4; charset=utf-8"], body: metrics.prometheusText())
    }
}
