import HTTP
import JSON
import TestSupport
import Testing

@Suite("The OpenAPI description", .enabled(if: TestDatabase.isAvailable), .timeLimit(.minutes(5))) struct OpenAPITests {
    @Test("holds: every example of a request and of an error gets the status and the body it says")
    func examples() async throws {
        try await Deployment.run { gateway in
            let description = try await Description(of: gateway)
            // What removes things comes last: the other examples need them.
            let (removing, others) = (
                description.operations.filter { $0.method == "DELETE" }, description.operations.filter { $0.method != "DELETE" }
            )
            var count = 0
            for operation in others + removing {
                for request in operation.successes {
                    count += 1
                    let answer = try await description.send(request)
                    #expect(operation.successStatuses.contains(answer.status), "\(request): \(answer.text)")
                    if let status = request.status { #expect(answer.status == status, "\(request): \(answer.text)") }
                    #expect(description.complaints(answer, operation) == [], "\(request): \(answer.text)")
                }
                for (request, body) in operation.errors {
                    count += 1
                    let answer = try await description.send(request)
                    #expect(answer.status == request.status, "\(request): \(answer.text)")
                    #expect(answer.text == body, "\(request)")
                    #expect(description.complaints(answer, operation) == [], "\(request)")
                }
            }
            #expect(count > 150)
        }
    }

    @Test("names every method of its paths")
    func methods() async throws {
        try await Deployment.run { gateway in
            let description = try await Description(of: gateway)
            for path in Set(description.operations.map(\.path)) {
                let target = description.target(path, [:])
                // A path that is spelled out may also be the value of a parameter.
                let described = description.operations.filter { $0.matches(target) }.map(\.method)
                let answer = try await gateway.send("TRACE", target, key: nil)
                #expect(answer.status == 405, "\(path)")
                let allowed = answer.headers["allow"]?.split(separator: ", ").map(String.init) ?? []
                #expect(Set(allowed).subtracting(["HEAD"]) == Set(described), "\(path)")
            }
        }
    }
}
