import Testing

@testable import HTTP

@Suite("Request") struct HTTPRequestTests {
    @Test(
        "splits its path before it decodes",
        arguments: [
            ("/", []), ("/a/b", ["a", "b"]), ("/a%2Fb/c?d=/e", ["a/b", "c"]), ("/a/", ["a", ""]), ("//a", ["", "a"]),
            ("/%e2%82%ac/+", ["€", "+"]), ("*", nil), ("/%", nil), ("/%4", nil), ("/%zz", nil), ("/%ff", nil), ("/a%00", nil),
            ("/%C0%AF", nil),
        ] as [(String, [String]?)])
    func segments(target: String, expected: [String]?) {
        #expect(HTTPRequest(method: "GET", target: target).pathSegments == expected)
    }

    @Test(
        "finds and decodes query parameters",
        arguments: [
            ("/p", nil), ("/p?", nil), ("/p?name", ""), ("/p?name=", ""), ("/p?name=a=b", "a=b"),
            ("/p?x=1&name=a+b%26&name=2", "a b&"),
            ("/p?na%6De=1", "1"), ("/p?x=1&\u{301}=2&name=\u{301}3", "\u{301}3"), ("/p?name=%f", nil), ("/p?Name=1", nil),
        ] as [(String, String?)])
    func query(target: String, expected: String?) {
        #expect(HTTPRequest(method: "GET", target: target).queryValue("name") == expected)
    }

    @Test("keeps the query out of its path") func path() {
        #expect(HTTPRequest(method: "GET", target: "/a?b?c").path == "/a")
    }
}

@Suite("Headers") struct HTTPHeadersTests {
    @Test("are found in any letter case, first value first") func lookUp() {
        let headers: HTTPHeaders = ["X-One": "1", "x-two": "2", "X-ONE": "3"]
        #expect(headers["x-one"] == "1")
        #expect(headers["X-Two"] == "2")
        #expect(headers.values(of: "x-One") == ["1", "3"])
        #expect(headers["x-three"] == nil)
        #expect(headers.map(\.name) == ["x-one", "x-two", "x-one"])
    }

    @Test("are replaced and removed as a whole") func replacement() {
        var headers: HTTPHeaders = ["a": "1", "b": "2", "A": "3"]
        headers["A"] = "4"
        #expect(headers.fields == [.init(name: "b", value: "2"), .init(name: "a", value: "4")])
        headers["b"] = nil
        #expect(headers.count == 1)
    }

    @Test("cannot be split by a value", arguments: ["a\r\nb: c", "a\nb", "a\u{0}b", "a\rb"])
    func splitting(value: String) {
        let headers: HTTPHeaders = ["a": value]
        #expect(headers["a"]?.utf8.contains { $0 < 0x20 } == false)
    }
}
