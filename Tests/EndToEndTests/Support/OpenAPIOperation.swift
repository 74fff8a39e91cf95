import HTTP
import JSON

/// An operation of the description, with the requests its examples make.
struct OpenAPIOperation {
    /// A request of an example, with values as they stand in the description.
    struct Request: CustomStringConvertible {
        let method: String
        let path: String
        var parameters: [String: String]
        var query: [(name: String, value: String)] = []
        var body = ""
        /// The kind of the key; nil for none.
        var key: String?
        /// The header that names the app again, on MoEngage's wire; nil elsewhere.
        var workspaceHeader: String?
        /// How often it is made, by an app of its own.
        var times = 1
        /// What it must be answered with; nil for any success.
        var status: Int?

        var description: String {
            "\(method) \(path) \(parameters) \(query.map { "\($0.name)=\($0.value)" }) \(body) \(key ?? "without a key")"
        }
    }

    let method: String
    let path: String
    let node: JSONValue

    private var responses: [(status: Int, response: JSONValue)] {
        (node["responses"]?.members ?? []).compactMap { status, response in Int(status).map { ($0, response) } }
    }
    var successStatuses: [Int] { responses.map(\.status).filter { $0 < 300 } }

    /// The part of the description that says what an answer of that status carries.
    func content(of status: Int) -> (type: String, content: JSONValue)? {
        let content = responses.first { $0.status == status }?.response["content"]
        return content?.members.first.map { ($0.key, $0.value) }
    }
    func isDescribed(_ status: Int) -> Bool { responses.contains { $0.status == status } }

    /// Whether the path stands for a target without a query.
    func matches(_ target: String) -> Bool {
        let (pattern, segments) = (path.split(separator: "/"), target.split(separator: "/"))
        return pattern.count == segments.count && zip(pattern, segments).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }

    // MARK: Requests

    private func parameters(in place: String) -> [(name: String, value: String, isRequired: Bool)] {
        (node["parameters"]?.elements ?? []).filter { $0["in"]?.string == place }.map {
            ($0["name"]?.string ?? "", $0["example"]?.string ?? "", $0["required"]?.bool ?? false)
        }
    }

    /// The request without anything optional.
    private var plain: Request {
        var request = Request(
            method: method, path: path,
            parameters: Dictionary(uniqueKeysWithValues: parameters(in: "path").map { ($0.name, $0.value) }))
        request.query = parameters(in: "query").filter(\.isRequired).map { ($0.name, $0.value) }
        request.workspaceHeader = node["x-workspace-header"]?.string
        request.key = node["x-key-kinds"]?.count == 0 ? nil : "rest"
        request.body = bodies.first.map { text($0.value["value"]) } ?? ""
        return request
    }

    private var bodies: [(key: String, value: JSONValue)] {
        node["requestBody"]?["content"]?["application/json"]?["examples"]?.members ?? []
    }

    /// What succeeds: each body; without a body the request with no parameters of the query, with all but the cursor, and with the
    /// cursor alone.
    var successes: [Request] {
        // One that refuses everybody.
        if successStatuses.isEmpty { return [] }
        if !bodies.isEmpty {
            return bodies.map { _, example in
                var request = changed(plain, by: example["x-request"])
                request.body = text(example["value"])
                request.status = Int(example["x-status"]?.integer ?? 0)
                return request
            }
        }
        let query = parameters(in: "query")
        let groups = [[], query.filter { $0.name != "cursor" }, query.filter { $0.name == "cursor" }]
        return groups.enumerated().filter { $0.offset == 0 || !$0.element.isEmpty }.map { _, group in
            var request = plain
            request.query = query.filter { item in item.isRequired || group.contains { $0.name == item.name } }
                .map { ($0.name, $0.value) }
            return request
        }
    }

    /// What fails, each with the body it is answered with.
    var errors: [(request: Request, body: String)] {
        responses.filter { $0.status >= 400 }.flatMap { status, response in
            (response["content"]?["application/json"]?["examples"]?.members ?? []).map { _, example in
                var request = changed(plain, by: example["x-request"])
                request.status = status
                return (request, text(example["value"]))
            }
        }
    }

    private func changed(_ request: Request, by change: JSONValue?) -> Request {
        var request = request
        for (name, value) in change?["path"]?.members ?? [] { request.parameters[name] = value.string }
        for (name, value) in change?["query"]?.members ?? [] {
            request.query.removeAll { $0.name == name }
            request.query.append((name, value.string ?? ""))
        }
        if let body = change?["body"] { request.body = text(body) }
        if let key = change?["key"]?.string { request.key = key == "none" ? nil : key }
        request.times = Int(change?["times"]?.integer ?? 1)
        return request
    }

    private func text(_ value: JSONValue?) -> String { String(decoding: value?.rawBytes ?? [], as: UTF8.self) }
}
