import Gateway
import HTTP
import JSON
import TestSupport
import Testing

@testable import API

@Suite("OpenAPI description") struct OpenAPITests {
    private let document: JSONValue
    init() throws { document = try JSONDocument(parsing: OpenAPIDocument.bytes).root }

    private var operations: [(path: String, method: String, operation: JSONValue)] {
        (document["paths"]?.members ?? []).flatMap { path, methods in
            methods.members.map { (path, $0.key.uppercased(), $0.value) }
        }
    }

    @Test("is served without a key") func served() async {
        let response = await TestAPI().send("GET", "/openapi.json", key: nil)
        #expect(response.status == 200)
        #expect(response.headers["content-type"] == "application/json")
        #expect(response.body == OpenAPIDocument.bytes)
    }

    @Test("has every route of the router, and no other")
    func complete() {
        let described = operations.map { "\($0.method) \($0.path) \($0.operation["operationId"]?.string ?? "")" }
        #expect(Set(described) == Set(Route.allCases.map { "\($0.method) \($0.template) \($0.rawValue)" }))
        #expect(described.count == Route.allCases.count)
        for (path, method, operation) in operations {
            let target = path.split(separator: "/").map { $0.hasPrefix("{") ? "x" : $0 }.joined(separator: "/")
            guard case .found(let route, _) = Router.match(HTTPRequest(method: method, target: "/\(target)")) else {
                Issue.record("\(method) \(path) is no route")
                continue
            }
            #expect(route.rawValue == operation["operationId"]?.string)
        }
    }

    @Test("says of each operation who may use it, what it answers, and every parameter of its path")
    func operationsAreWhole() {
        for (path, _, operation) in operations {
            let name = operation["operationId"]?.string ?? path
            let statuses = operation["responses"]?.members.compactMap { Int($0.key) } ?? []
            #expect(statuses.contains { $0 < 300 } != (name == Route.readAndroidParameters.rawValue), "\(name)")
            #expect(operation["summary"]?.string?.isEmpty == false, "\(name)")
            #expect(operation["tags"]?.count == 1, "\(name)")
            let isOpen = operation["x-key-kinds"]?.count == 0
            #expect(isOpen == (operation["security"]?.count == 0), "\(name)")
            // Where events are taken, a key of another kind is as good as none.
            let refusals = Route(rawValue: name)?.takesEvents == true ? [400, 401, 500, 503] : [401, 403, 500, 503]
            if !isOpen { #expect(Set(refusals).isSubset(of: statuses), "\(name)") }
            let parameters = operation["parameters"]?.elements.filter { $0["in"]?.string == "path" }.compactMap {
                $0["name"]?.string
            }
            #expect(
                parameters == path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) })
        }
    }

    @Test("has examples of bodies and errors that are as its schemas say")
    func examples() {
        let checker = SchemaChecker(document: document)
        var count = 0
        for (path, method, operation) in operations {
            let bodies = operation["requestBody"].map { [$0] } ?? []
            for content in bodies + (operation["responses"]?.members.map(\.value) ?? []) {
                guard let json = content["content"]?["application/json"], let schema = json["schema"] else { continue }
                for (name, example) in json["examples"]?.members ?? [] {
                    let complaints = example["value"].map { checker.complaints($0, schema) } ?? ["no value"]
                    #expect(complaints == [], "\(method) \(path) \(name)")
                    count += 1
                }
            }
        }
        #expect(count > 100)
    }

    @Test("leads somewhere with each reference")
    func references() {
        let checker = SchemaChecker(document: document)
        for (name, schema) in document["components"]?["schemas"]?.members ?? [] {
            // An empty object meets every reference below its properties that is there.
            #expect(checker.complaints(document, schema).allSatisfy { !$0.contains("is not in the document") }, "\(name)")
        }
        let text = String(decoding: OpenAPIDocument.bytes, as: UTF8.self)
        let names = Set(text.matches(of: #/#\/components\/schemas\/(\w+)/#).map { String($0.1) })
        #expect(names == Set(document["components"]?["schemas"]?.members.map(\.key) ?? []))
    }
}
