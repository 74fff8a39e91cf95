/// What operators and their probes ask.
enum OperationsDescriptions {
    static let live = RouteDescription(
        area: .operations, summary: "The process answers",
        answers: [.init(200, "It does.", .json(.object([("status", .choice("ok"))])))])

    private static let state = Schema.choice("ready", "not ready")
    private static let readiness = Schema.object([("status", state), ("parts", .map(of: state))])

    static let ready = RouteDescription(
        area: .operations, summary: "Every part works that the daemon needs",
        answers: [
            .init(200, "All are ready.", .json(readiness)),
            .init(503, "At least one is not.", .json(readiness)),
        ])

    static let metrics = RouteDescription(
        area: .operations, summary: "Metrics for Prometheus",
        answers: [.init(200, "Version 0.0.4 of the text format.", .plainText)])

    static let openAPI = RouteDescription(
        area: .operations, summary: "This description", answers: [.init(200, "OpenAPI 3.1.", .json(.anything))])
}
