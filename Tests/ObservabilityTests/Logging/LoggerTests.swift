import Synchronization
import Testing

@testable import Observability

@Suite("Logger") struct LoggerTests {
    /// Keeps what a logger writes.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        func append(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    private let lines = Lines()

    private func logger(_ level: LogLevel = .debug, _ format: LogFormat = .text) -> Logger {
        Logger(level: level, format: format, now: { LogTime(millisecondsSince1970: 1_772_323_199_007) }, sink: lines.append)
    }

    @Test("writes time, level, message and sorted fields") func writesText() {
        logger().log(.warning, "APNs closed the connection", [.reason: "Shutdown", .durationMilliseconds: "12"])
        #expect(lines.all == ["2026-02-28T23:59:59.007Z warning APNs closed the connection duration_ms=12 reason=Shutdown"])
    }

    @Test("writes one JSON object a line") func writesJSON() {
        logger(.debug, .json).log(.error, "Lost", [.reason: "a \"b\"\n\u{1}"])
        #expect(
            lines.all == [
                #"{"time":"2026-02-28T23:59:59.007Z","level":"error","message":"Lost","reason":"a \"b\"\n\u0001"}"#
            ])
    }

    @Test("does not evaluate the fields of a line below its level") func skipsDisabled() {
        var evaluations = 0
        func fields() -> [LogKey: String] {
            evaluations += 1
            return [:]
        }
        let logger = logger(.warning)
        logger.log(.info, "Not written", fields())
        #expect(evaluations == 0)
        #expect(lines.all.isEmpty)
        logger.log(.warning, "Written", fields())
        #expect(evaluations == 1)
        #expect(lines.all.count == 1)
    }

    @Test(
        "keeps a value inside its field",
        arguments: [
            ("plain", "plain"), ("", #""""#), ("two words", #""two words""#), ("a=b", #""a=b""#), (#"say "x""#, #""say \"x\"""#),
            (#"C:\n"#, #""C:\\n""#), ("a\r\nerror forged", #""a\r\nerror forged""#), ("\u{1B}[31m", #""\u001b[31m""#),
            ("a\u{2028}b", #""a\u2028b""#), ("\u{202E}txt", #""\u202etxt""#), ("\u{85}", #""\u0085""#), ("日本", "日本"),
        ])
    func escapes(value: String, written: String) {
        logger().log(.info, "Line", [.reason: value])
        #expect(lines.all == ["2026-02-28T23:59:59.007Z info Line reason=\(written)"])
    }

    @Test("cuts a long value at a character's end") func cuts() {
        logger().log(.info, "Line", [.reason: String(repeating: "é", count: 2_000)])
        #expect(lines.all == ["2026-02-28T23:59:59.007Z info Line reason=\(String(repeating: "é", count: 512))…"])
    }

    @Test(
        "formats times of every kind of year",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"), (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_767_225_599_001, "2025-12-31T23:59:59.001Z"),
            (-5, "1970-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func formatsTime(milliseconds: Int64, text: String) {
        #expect(LogTime(millisecondsSince1970: milliseconds).text == text)
    }

    @Test("reads level names in lower case only") func readsLevels() {
        #expect(LogLevel(name: "warning") == .warning)
        #expect(LogLevel(name: "Warning") == nil)
        #expect(LogLevel.debug < .info && LogLevel.warning < .error)
    }
}
