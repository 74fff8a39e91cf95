import JSON
import Testing

@testable import Gateway

@Suite("Field checks") struct FieldChecksTests {
    private func checks(_ text: String) throws -> FieldChecks { FieldChecks(try JSONDocument(parsing: Array(text.utf8)).root) }
    private func value(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    @Test("counts null as absent and names unknown keys once")
    func keys() throws {
        var checks = try checks(#"{"a":null,"b":null,"c":1,"c":2,"d":"x"}"#)
        #expect(checks.required("a", FieldRule.string) == nil)
        #expect(checks.optional("b", FieldRule.string) == nil)
        #expect(checks.required("d", FieldRule.string) == "x")
        checks.reportUnknownKeys()
        #expect(checks.errors.map(\.description) == ["a: is required", "c: is not a known key"])
    }

    @Test("bounds what it says of unknown keys")
    func bounds() throws {
        let long = String(repeating: "k", count: 5000)
        var checks = try checks(#"{"\#(long)":1,\#((0..<1000).map { "\"\($0)\":0" }.joined(separator: ","))}"#)
        checks.reportUnknownKeys()
        #expect(checks.errors.count == FieldChecks.errorCountPerList)
        #expect(checks.errors[0].field.count == 33)
    }

    @Test(
        "reads seconds and recognises milliseconds",
        arguments: [
            ("0", nil), ("10.0", nil), ("99999999999", nil), ("100000000000", .milliseconds), ("1e300", .milliseconds),
            ("1e19", .milliseconds), ("1e999", .wrongKind(expected: "a whole number of seconds since 1970")),
            ("1.5", .wrongKind(expected: "a whole number of seconds since 1970")),
            ("-1", .wrongKind(expected: "a whole number of seconds since 1970")),
            ("\"10\"", .wrongKind(expected: "a whole number of seconds since 1970")),
            ("true", .wrongKind(expected: "a whole number of seconds since 1970")),
        ] as [(String, FieldProblem?)])
    func seconds(literal: String, problem: FieldProblem?) throws {
        var checks = try checks(#"{"stale_date":\#(literal)}"#)
        let seconds = checks.optional("stale_date", FieldRule.seconds)
        #expect(checks.errors.map(\.problem) == (problem.map { [$0] } ?? []))
        #expect((seconds == nil) == (problem != nil))
    }

    @Test("compares dates with the clock")
    func clock() throws {
        #expect(throws: FieldProblem.future) { try FieldRule.pastSeconds(try value("1301"), now: 1000) }
        #expect(try FieldRule.pastSeconds(try value("1300"), now: 1000) == 1300)
    }

    @Test(
        "reads tokens",
        arguments: [
            ("ab", [0xAB]), ("AbcD", [0xAB, 0xCD]), ("", nil), ("abc", nil), ("zz", nil), ("ab ", nil), ("<ab>", nil), ("é", nil),
        ] as [(String, [UInt8]?)])
    func tokens(text: String, expected: [UInt8]?) throws {
        #expect((try? FieldRule.token(try value("\"\(text)\""))) == expected)
    }

    @Test("bounds tokens at 400 digits")
    func tokenLength() throws {
        #expect(try FieldRule.token(try value("\"\(String(repeating: "ab", count: 200))\"")).count == 200)
        #expect(throws: FieldProblem.tooLong(actual: 402, limit: 400, unit: .digits)) {
            try FieldRule.token(try value("\"\(String(repeating: "ab", count: 201))\""))
        }
    }

    @Test("counts identifiers in bytes and names in characters")
    func lengths() throws {
        #expect(try FieldRule.identifier(String(repeating: "é", count: 64)).utf8.count == 128)
        #expect(throws: FieldProblem.tooLong(actual: 130, limit: 128, unit: .bytes)) {
            try FieldRule.identifier(String(repeating: "é", count: 65))
        }
        #expect(throws: FieldProblem.empty) { try FieldRule.identifier("") }
        #expect(throws: FieldProblem.controlCharacter) { try FieldRule.identifier("a\u{85}") }
        #expect(throws: FieldProblem.controlCharacter) { try FieldRule.identifier("a\0") }
        #expect(throws: FieldProblem.slash) { try FieldRule.activityID("a/b") }
        #expect(try FieldRule.name(try value("\"\(String(repeating: "é", count: 128))\"")).count == 128)
        #expect(throws: FieldProblem.tooLong(actual: 129, limit: 128, unit: .characters)) {
            try FieldRule.name(try value("\"\(String(repeating: "é", count: 129))\""))
        }
        #expect(throws: FieldProblem.blank) { try FieldRule.name(try value("\" \u{3000}\u{A0}\"")) }
    }

    @Test(
        "keeps the literal of a relevance score",
        arguments: [
            ("0", true), ("1", true), ("1.0", true), ("0.50", true), ("5e-1", true), ("1.1", false), ("-0.1", false),
            ("\"0.5\"", false), ("1e400", false),
        ]
    )
    func relevance(literal: String, isRight: Bool) throws {
        let score = try? FieldRule.relevanceScore(try value(literal))
        #expect(score == (isRight ? Array(literal.utf8) : nil))
    }

    @Test(
        "wants an English text that is not blank",
        arguments: [
            (#"{}"#, ["contents: is required"]), (#"{"contents":null}"#, ["contents: is required"]),
            (#"{"contents":"hi"}"#, ["contents: must be an object of texts by language"]),
            (#"{"contents":{}}"#, ["contents.en: is required"]), (#"{"contents":{"en":null}}"#, ["contents.en: is required"]),
            (#"{"contents":{"en":5}}"#, ["contents.en: must be a string"]),
            (#"{"contents":{"en":" \u3000\u2003"}}"#, ["contents.en: must not be blank"]),
            (#"{"contents":{"en":"x","de":5}}"#, ["contents.de: must be a string"]),
            (#"{"contents":{"en":"x","d":"y"}}"#, ["contents.d: must be a language tag such as en or pt-BR"]),
            (#"{"contents":{"en":"x","de":" ","fr":null}}"#, []), (#"{"contents":{"en":5,"en":" ","en":"x"}}"#, []),
            (#"{"contents":{"en":"x","en":" "}}"#, ["contents.en: must not be blank"]),
        ])
    func localizedText(body: String, messages: [String]) throws {
        var checks = try checks(body)
        _ = checks.localizedText("contents", isRequired: true)
        #expect(checks.errors.map(\.description) == messages)
    }

    @Test("makes one alert a language, English first, English where a part is missing")
    func alerts() throws {
        var checks = try checks(
            #"{"headings":{"fr":"Bonjour","en":"Hello","de":" "},"contents":{"de":"Tor","EN":"no","en":"Goal","fr":"But"}}"#)
        let titles = checks.localizedText("headings", isRequired: true)
        let bodies = checks.localizedText("contents", isRequired: true)
        #expect(checks.errors.isEmpty)
        #expect(
            LocalizedText.alerts(titles: titles, bodies: bodies) == [
                LocalizedAlert(language: "en", title: "Hello", body: "Goal"),
                LocalizedAlert(language: "de", title: "Hello", body: "Tor"),
                LocalizedAlert(language: "fr", title: "Bonjour", body: "But"),
            ])
        #expect(LocalizedText.alerts(titles: nil, bodies: bodies).isEmpty)
        #expect(
            LocalizedText.alerts(titles: titles, bodies: nil).first == LocalizedAlert(language: "en", title: "Hello", body: nil))
    }

    private static let identifier = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"

    @Test(
        "wants exactly one form of targeting",
        arguments: [
            (
                "{}",
                ["targeting: give exactly one of include_aliases, include_subscription_ids, included_segments, filters"]
            ),
            (
                #"{"included_segments":["A"],"filters":[{"field":"country","relation":"exists"}]}"#,
                [
                    "included_segments: give exactly one of include_aliases, include_subscription_ids, included_segments, filters",
                    "filters: give exactly one of include_aliases, include_subscription_ids, included_segments, filters",
                ]
            ),
            (
                #"{"include_aliases":{"external_id":["u"]},"excluded_segments":["A"]}"#,
                ["excluded_segments: requires included_segments"]
            ),
            (#"{"included_segments":[]}"#, ["included_segments: must not be empty"]),
            (#"{"included_segments":"A"}"#, ["included_segments: must be a list"]),
            (
                #"{"included_segments":["A",5," "]}"#,
                ["included_segments[1]: must be a string", "included_segments[2]: must not be blank"]
            ),
            (#"{"include_subscription_ids":["\#(identifier)","nope"]}"#, ["include_subscription_ids[1]: must be a UUID"]),
            (#"{"include_aliases":{}}"#, ["include_aliases: must not be empty"]),
            (#"{"include_aliases":["u"]}"#, ["include_aliases: must be an object of lists by alias label"]),
            (#"{"include_aliases":{"external_id":[]}}"#, ["include_aliases.external_id: must not be empty"]),
            (#"{"include_aliases":{"external_id":["u",5]}}"#, ["include_aliases.external_id[1]: must be a string"]),
            (#"{"filters":[{"field":"nope"}]}"#, ["filters[0]: nope is not a known filter field"]),
        ])
    func targeting(body: String, messages: [String]) throws {
        var checks = try checks(body)
        _ = checks.audience()
        checks.reportUnknownKeys()
        #expect(checks.errors.map(\.description) == messages)
    }

    @Test("reads the four forms without repetitions")
    func forms() throws {
        var subscriptions = try checks(
            #"{"include_subscription_ids":["\#(Self.identifier)","\#(Self.identifier.uppercased())"]}"#)
        guard case .subscriptions(let identifiers) = subscriptions.audience() else { throw Missing() }
        #expect(identifiers == [try #require(UUID(Self.identifier))])

        var aliases = try checks(#"{"include_aliases":{"external_id":["u","u"],"crm":["u"]}}"#)
        guard case .aliases(let references) = aliases.audience() else { throw Missing() }
        #expect(
            references == [AliasReference(label: "external_id", identifier: "u"), AliasReference(label: "crm", identifier: "u")])

        var again = try checks(#"{"include_aliases":{"external_id":5,"crm":null,"external_id":["a"],"external_id":["b"]}}"#)
        guard case .aliases(let last) = again.audience() else { throw Missing() }
        #expect(last == [AliasReference(label: "external_id", identifier: "b")])

        for form in [#""included_segments":["A"]"#, #""include_aliases":{"external_id":["u"]}"#] {
            var checks = try checks("{\(form),\"excluded_segments\":[]}")
            #expect(checks.audience() != nil && checks.errors.isEmpty, "\(form)")
        }
        var segments = try checks(#"{"included_segments":["A","B","A"],"excluded_segments":["C"]}"#)
        guard case .segments(let included, let excluded) = segments.audience() else { throw Missing() }
        #expect(included == ["A", "B"])
        #expect(excluded == ["C"])

        var filters = try checks(#"{"filters":[{"field":"country","relation":"exists"}]}"#)
        guard case .filters(let expression) = filters.audience() else { throw Missing() }
        #expect(expression.branches == [[.countryExists(true)]])
    }
    private struct Missing: Error {}

    @Test("tells aliases apart by their bytes")
    func aliasBytes() throws {
        var checks = try checks("{\"include_aliases\":{\"external_id\":[\"\u{E9}\",\"e\u{301}\",\"\u{E9}\"]}}")
        guard case .aliases(let references) = checks.audience() else { throw Missing() }
        #expect(references.map { Array($0.identifier.utf8) } == [[0xC3, 0xA9], [0x65, 0xCC, 0x81]])
    }

    @Test("bounds identifiers at 20,000 over all labels")
    func audienceBound() throws {
        func body(_ first: Int, _ second: Int) -> String {
            func list(_ count: Int) -> String { "[\((0..<count).map { "\"u\($0)\"" }.joined(separator: ","))]" }
            return #"{"include_aliases":{"a":\#(list(first)),"b":\#(list(second))}}"#
        }
        var full = try checks(body(10_000, 10_000))
        #expect(full.audience() != nil)
        #expect(full.errors.isEmpty)
        var over = try checks(body(10_000, 10_001))
        #expect(over.audience() == nil)
        #expect(over.errors.map(\.description) == ["include_aliases: has 20001 entries, at most 20000 are allowed"])
    }
}
