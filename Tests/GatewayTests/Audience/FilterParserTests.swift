import JSON
import Testing

@testable import Gateway

@Suite("Filter parser") struct FilterParserTests {
    private func parse(_ text: String) throws -> FilterExpression {
        try FilterParser.parse(try JSONDocument(parsing: Array(text.utf8)).root, field: "filters")
    }

    /// What callers would read.
    private func errors(_ text: String) throws -> [String] {
        let list = try JSONDocument(parsing: Array(text.utf8)).root
        do throws(FieldErrors) {
            _ = try FilterParser.parse(list, field: "filters")
            return []
        } catch {
            return error.errors.map(\.description)
        }
    }

    @Test(
        "reads every relation of every field",
        arguments: [
            (#"{"field":"tag","key":"k","relation":"=","value":"v"}"#, .tag(key: "k", .compares(.equal, "v"))),
            (#"{"field":"tag","key":"k","relation":"!=","value":1.50}"#, .tag(key: "k", .compares(.notEqual, "1.50"))),
            (#"{"field":"tag","key":"k","relation":">","value":"10"}"#, .tag(key: "k", .compares(.greater, "10"))),
            (#"{"field":"tag","key":"k","relation":"<","value":-2}"#, .tag(key: "k", .compares(.less, "-2"))),
            (#"{"field":"tag","key":"k","relation":"exists"}"#, .tag(key: "k", .exists)),
            (#"{"field":"tag","key":"k","relation":"not_exists","value":null}"#, .tag(key: "k", .notExists)),
            (
                #"{"field":"tag","key":"k","relation":"time_elapsed_gt","value":"60"}"#,
                .tag(key: "k", .timeElapsedGreater(seconds: 60))
            ),
            (
                #"{"field":"tag","key":"k","relation":"time_elapsed_lt","value":1.5}"#,
                .tag(key: "k", .timeElapsedLess(seconds: 1.5))
            ),
            (#"{"field":"tag","key":"k","relation":"in_array","value":"a, b,3"}"#, .tag(key: "k", .isOneOf(["a", "b", "3"]))),
            (
                #"{"field":"tag","key":"k","relation":"in_array","value":"a,\u0301b"}"#,
                .tag(key: "k", .isOneOf(["a", "\u{301}b"]))
            ),
            (#"{"field":"tag","key":"k","relation":"in_array","value":["a,b",3]}"#, .tag(key: "k", .isOneOf(["a,b", "3"]))),
            (#"{"field":"tag","key":"k","relation":"not_in_array","value":7}"#, .tag(key: "k", .isNoneOf(["7"]))),
            // Whatever a tag may hold.
            (#"{"field":"tag","key":"k","relation":"=","value":""}"#, .tag(key: "k", .compares(.equal, ""))),
            (#"{"field":"tag","key":"k","relation":"!=","value":"a\nb\t"}"#, .tag(key: "k", .compares(.notEqual, "a\nb\t"))),
            (#"{"field":"tag","key":"k","relation":"=","value":true}"#, .tag(key: "k", .compares(.equal, "true"))),
            (
                #"{"field":"tag","key":"k","relation":"in_array","value":["","a\n",false]}"#,
                .tag(key: "k", .isOneOf(["", "a\n", "false"]))
            ),
            (
                #"{"field":"tag","key":"k","relation":"not_in_array","value":" a\nb ,c"}"#,
                .tag(key: "k", .isNoneOf(["a\nb", "c"]))
            ),
            (#"{"field":"tag","key":"k","relation":">","value":"+1.5e-12"}"#, .tag(key: "k", .compares(.greater, "+1.5e-12"))),
            (#"{"field":"tag","key":"k","relation":"=","value":"1e100"}"#, .tag(key: "k", .compares(.equal, "1e100"))),
            (#"{"field":"country","relation":"=","value":"de"}"#, .country(.equal, "DE")),
            (#"{"field":"country","relation":"!=","value":"FR"}"#, .country(.notEqual, "FR")),
            (#"{"field":"country","relation":"exists"}"#, .countryExists(true)),
            (#"{"field":"country","relation":"not_exists"}"#, .countryExists(false)),
            (#"{"field":"language","relation":"=","value":"EN"}"#, .language(.equal, "en")),
            (#"{"field":"language","relation":"!=","value":"pt-BR"}"#, .language(.notEqual, "pt-br")),
            (#"{"field":"app_version","relation":">","value":"1.10.0"}"#, .appVersion(.greater, "1.10.0")),
            (#"{"field":"app_version","relation":"=","value":1.10}"#, .appVersion(.equal, "1.10")),
            (#"{"field":"app_version","relation":"!=","value":"1.2-beta"}"#, .appVersion(.notEqual, "1.2-beta")),
            (#"{"field":"session_count","relation":"<","value":"5"}"#, .sessionCount(.less, 5)),
            (#"{"field":"session_count","relation":"!=","value":5.0}"#, .sessionCount(.notEqual, 5)),
            (#"{"field":"last_session","relation":">","hours_ago":"1.1"}"#, .lastSession(.greater, hoursAgo: 1.1)),
            (#"{"field":"first_session","relation":"<","hours_ago":24}"#, .firstSession(.less, hoursAgo: 24)),
            (#"{"field":"session_time","relation":">","value":"60.5"}"#, .sessionTime(.greater, seconds: 60.5)),
            (#"{"field":"session_time","relation":"<","value":600}"#, .sessionTime(.less, seconds: 600)),
            (
                #"{"field":"location","radius":"1000","lat":"-33.5","long":"151.25"}"#,
                .within(metres: 1_000, of: DeviceLocation(latitude: -33.5, longitude: 151.25))
            ),
            (
                #"{"field":"location","radius":1.5,"lat":90,"long":-180}"#,
                .within(metres: 1.5, of: DeviceLocation(latitude: 90, longitude: -180))
            ),
        ] as [(String, FilterCondition)])
    func reads(entry: String, condition: FilterCondition) throws {
        #expect(try parse("[\(entry)]") == FilterExpression(branches: [[condition]]))
    }

    @Test(
        "binds AND tighter than OR",
        arguments: [
            ("A B", [["A", "B"]]), ("A | B", [["A"], ["B"]]), ("A | B C", [["A"], ["B", "C"]]),
            ("A B | C", [["A", "B"], ["C"]]),
            ("A & B | C & D", [["A", "B"], ["C", "D"]]), ("A | B | C", [["A"], ["B"], ["C"]]),
        ])
    func precedence(sketch: String, branches: [[String]]) throws {
        let entries = sketch.split(separator: " ").map { sign in
            switch sign {
            case "|": #"{"operator":"OR"}"#
            case "&": #"{"operator":"AND"}"#
            default: #"{"field":"tag","key":"\#(sign)","relation":"exists"}"#
            }
        }
        let expected = FilterExpression(branches: branches.map { $0.map { .tag(key: $0, .exists) } })
        #expect(try parse("[\(entries.joined(separator: ","))]") == expected)
    }

    private static let condition = #"{"field":"country","relation":"exists"}"#
    private static let or = #"{"operator":"OR"}"#

    @Test(
        "refuses an operator at a wrong place by its index",
        arguments: [
            ([or, condition], "filters[0]: a list must not begin with an operator"),
            ([or], "filters[0]: a list must not begin with an operator"),
            ([condition, or], "filters[1]: a list must not end with an operator"),
            ([condition, or, or, condition], "filters[2]: an operator must not follow another"),
            ([condition, #"{"operator":"XOR"}"#, condition], "filters[1]: operator must be OR or AND"),
            ([condition, #"{"operator":1}"#, condition], "filters[1]: operator must be OR or AND"),
            ([condition, #"{"operator":"OR","field":"tag"}"#, condition], "filters[1]: field is not a key of this filter"),
        ])
    func positions(entries: [String], message: String) throws {
        #expect(try errors("[\(entries.joined(separator: ","))]") == [message])
    }

    @Test(
        "refuses a malformed condition and says why",
        arguments: [
            ("5", "must be an object"), ("{}", "field is required"),
            (#"{"field":"amount_spent"}"#, "amount_spent is not a known filter field"),
            (#"{"field":["tag"]}"#, "field must be a string or a number"),
            (#"{"field":"tag","relation":"="}"#, "key is required"), (#"{"field":"tag","key":"k"}"#, "relation is required"),
            (#"{"field":"tag","key":"k","relation":"="}"#, "value is required"),
            (#"{"field":"tag","key":"k","relation":"~","value":"v"}"#, "~ is not a relation of this field"),
            (
                #"{"field":"tag","key":"k","relation":">","value":"v"}"#,
                "value must be a number, with two digits in its exponent at most"
            ),
            (
                #"{"field":"tag","key":"k","relation":"<","value":"1e100"}"#,
                "value must be a number, with two digits in its exponent at most"
            ),
            (
                #"{"field":"tag","key":"k","relation":">","value":1e100}"#,
                "value must be a number, with two digits in its exponent at most"
            ),
            (#"{"field":"app_version","relation":">","value":"1.2-beta"}"#, "value must be dotted numbers, such as 1.20.3"),
            (#"{"field":"app_version","relation":"<","value":"latest"}"#, "value must be dotted numbers, such as 1.20.3"),
            (
                #"{"field":"app_version","relation":"<","value":"1234567890123456789"}"#,
                "value must be dotted numbers, such as 1.20.3"
            ),
            (#"{"field":"tag","key":"","relation":"exists"}"#, "key must be 1 to 128 bytes without control characters"),
            (#"{"field":"tag","key":"k","relation":"exists","value":"v"}"#, "value is not a key of this filter"),
            (#"{"field":"tag","key":"k","relation":"=","value":{}}"#, "value must be a string, a number, true or false"),
            (#"{"field":"tag","key":"k","relation":"=","value":"a\u0000"}"#, "value must be at most 256 bytes without NUL"),
            (
                #"{"field":"tag","key":"k","relation":"in_array","value":["a",null]}"#,
                "value must be 1 to 20 values, as a list or separated by commas"
            ),
            (
                #"{"field":"tag","key":"k","relation":"in_array","value":"a, "}"#,
                "value must be 1 to 20 values, as a list or separated by commas"
            ),
            (#"{"field":"tag","key":"k","relation":"=","value":"v","x":1}"#, "x is not a key of this filter"),
            (#"{"field":"tag","key":"k","relation":"time_elapsed_gt","value":"-1"}"#, "value must be a number from 0 to 1e11"),
            (#"{"field":"tag","key":"k","relation":"time_elapsed_gt","value":"1e999"}"#, "value must be a number"),
            (
                #"{"field":"tag","key":"k","relation":"in_array","value":"a,,b"}"#,
                "value must be 1 to 20 values, as a list or separated by commas"
            ),
            (
                #"{"field":"tag","key":"k","relation":"in_array","value":[]}"#,
                "value must be 1 to 20 values, as a list or separated by commas"
            ),
            (#"{"field":"country","relation":">","value":"DE"}"#, "> is not a relation of this field"),
            (#"{"field":"country","relation":"=","value":"DEU"}"#, "value must be a country code of two letters"),
            (#"{"field":"language","relation":"<","value":"en"}"#, "< is not a relation of this field"),
            (#"{"field":"language","relation":"=","value":"e"}"#, "value must be a language tag"),
            (#"{"field":"session_count","relation":"=","value":"1.5"}"#, "value must be a whole number, 0 or more"),
            (#"{"field":"session_count","relation":"=","value":1e300}"#, "value must be a whole number, 0 or more"),
            (#"{"field":"last_session","relation":"=","hours_ago":"1"}"#, "= is not a relation of this field"),
            (#"{"field":"last_session","relation":">","value":"1"}"#, "value is not a key of this filter"),
            (#"{"field":"first_session","relation":">"}"#, "hours_ago is required"),
            (#"{"field":"first_session","relation":">","hours_ago":"soon"}"#, "hours_ago must be a number"),
            (#"{"field":"first_session","relation":">","hours_ago":1e300}"#, "hours_ago must be a number from 0 to 1e11"),
            (#"{"field":"session_time","relation":"=","value":"60"}"#, "= is not a relation of this field"),
            (#"{"field":"session_time","relation":">","value":"-1"}"#, "value must be a number from 0 to 1e11"),
            (#"{"field":"session_time","relation":">","hours_ago":"1"}"#, "hours_ago is not a key of this filter"),
            (#"{"field":"location","relation":"=","radius":1,"lat":1,"long":2}"#, "relation is not a key of this filter"),
            (#"{"field":"location","radius":"1000","lat":1}"#, "long is required"),
            (#"{"field":"location","lat":1,"long":2}"#, "radius is required"),
            (#"{"field":"location","radius":-1,"lat":1,"long":2}"#, "radius must be a number from 0 to 1e11"),
            (#"{"field":"location","radius":1,"lat":"90.1","long":2}"#, "lat must be a number from -90 to 90"),
            (#"{"field":"location","radius":1,"lat":"x","long":2}"#, "lat must be a number"),
            (#"{"field":"location","radius":1,"lat":1,"long":-180.5}"#, "long must be a number from -180 to 180"),
            (#"{"field":"location","radius":1,"lat":1,"long":2,"value":3}"#, "value is not a key of this filter"),
        ])
    func malformed(entry: String, message: String) throws {
        #expect(try errors("[\(Self.condition),\(entry)]") == ["filters[1]: \(message)"])
    }

    @Test(
        "takes what was accepted before it would be said to match nobody",
        arguments: [
            #"{"field":"tag","key":"k","relation":">","value":"1e100"}"#,
            #"{"field":"app_version","relation":"<","value":"latest"}"#,
        ])
    func stored(entry: String) throws {
        let list = try JSONDocument(parsing: Array("[\(entry)]".utf8)).root
        #expect(throws: FieldErrors.self) { try FilterParser.parse(list, field: "filters") }
        #expect(try FilterParser.parse(list, field: "filters", isStored: true).branches.count == 1)
    }

    @Test("reports every malformed entry")
    func reportsAll() throws {
        let entries = [Self.or, #"{"field":"x"}"#, Self.condition, "null", Self.or]
        #expect(
            try errors("[\(entries.joined(separator: ","))]").map { $0.prefix(11) } == [
                "filters[0]:", "filters[1]:", "filters[3]:", "filters[4]:",
            ])
    }

    @Test("bounds the list and its values")
    func bounds() throws {
        func list(_ count: Int) -> String { "[\(Array(repeating: Self.condition, count: count).joined(separator: ","))]" }
        #expect(try parse(list(200)).branches[0].count == 200)
        #expect(try errors(list(201)) == ["filters: has 201 entries, at most 200 are allowed"])
        #expect(try errors("[]") == ["filters: must not be empty"])
        #expect(try errors("{}") == ["filters: must be a list of filters"])
        func values(_ count: Int) -> String {
            let value = Array(repeating: "v", count: count).joined(separator: ",")
            return #"[{"field":"tag","key":"k","relation":"in_array","value":"\#(value)"}]"#
        }
        func tag(_ byteCount: Int) -> String {
            #"[{"field":"tag","key":"k","relation":"=","value":"\#(String(repeating: "v", count: byteCount))"}]"#
        }
        #expect(try errors(tag(256)).isEmpty)
        #expect(try errors(tag(257)) == ["filters[0]: value must be at most 256 bytes without NUL"])
        #expect(try errors(values(20)).isEmpty)
        #expect(try errors(values(21)).count == 1)
    }
}
