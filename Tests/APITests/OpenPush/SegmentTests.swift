import Gateway
import HTTP
import Testing

@testable import API

@Suite("Creating a segment") struct SegmentTests {
    private let api = TestAPI()
    private static let filters = #"[ {"field":"tag","key":"team","relation":"=","value":1.0} ]"#
    private func send(_ body: String) async -> HTTPResponse { await api.send("POST", "/apps/\(TestAPI.app)/segments", body) }

    @Test("stores the definition as it came")
    func created() async {
        let response = await send(#"{"id":null,"name":"Fans","filters":\#(Self.filters)}"#)
        #expect(response.status == 201)
        #expect(response.text == #"{"success":true,"id":"\#(TestAPI.identifier)"}"#)
        #expect(api.ports.with { $0.definitions } == [Self.filters])
    }

    @Test("answers 409 when the name is taken")
    func conflict() async {
        api.ports.with { $0.segment = .conflict }
        let response = await send(#"{"name":"Fans","filters":\#(Self.filters)}"#)
        #expect(response.status == 409)
        #expect(response.text == #"{"success":false,"errors":["A segment of this name or id exists."]}"#)
    }

    @Test(
        "names everything that is wrong",
        arguments: [
            ("{}", ["name: is required", "filters: is required"]),
            (
                #"{"id":"x","name":" ","filters":[],"y":1}"#,
                ["id: must be a UUID", "name: must not be blank", "filters: must not be empty", "y: is not a known key"]
            ),
            (
                #"{"name":"F","filters":[{"operator":"OR"},{"field":"tag"}]}"#,
                ["filters[0]: a list must not begin with an operator", "filters[1]: relation is required"]
            ),
            ("nonsense", ["body: invalid JSON at byte 1: unexpected character"]),
        ])
    func malformed(body: String, messages: [String]) async {
        let response = await send(body)
        #expect(response.status == 400)
        #expect(response.errorTexts == messages)
        #expect(response.text.hasPrefix(#"{"success":false,"#))
        #expect(api.ports.with { $0.definitions.isEmpty })
    }
}
