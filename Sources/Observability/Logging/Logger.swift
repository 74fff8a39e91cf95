import Glibc

/// Writes log lines: a fixed sentence and fields from one list. Lines below the level cost one comparison.
package struct Logger: Sendable {
    /// Least level that is written.
    package let level: LogLevel
    private let format: LogFormat
    private let now: @Sendable () -> LogTime
    private let sink: @Sendable (String) -> Void

    /// - Parameters:
    ///   - level: the least level that is written; default `info`.
    ///   - format: the form of a line; default `text`.
    ///   - now: what a line's time is; default the system's clock.
    ///   - sink: takes one line without its line end, on the thread that logs; default the standard error stream.
    package init(
        level: LogLevel = .info, format: LogFormat = .text, now: @escaping @Sendable () -> LogTime = LogTime.now,
        sink: @escaping @Sendable (String) -> Void = Logger.writeToStandardError
    ) {
        self.level = level
        self.format = format
        self.now = now
        self.sink = sink
    }

    /// A logger that writes nothing, not even errors.
    package static let silent = Logger(level: .error, sink: { _ in })

    /// Whether lines of `level` are written.
    package func isEnabled(_ level: LogLevel) -> Bool { level >= self.level }

    /// Writes one line when `level` is enabled; `fields` is not evaluated otherwise. Fields are sorted by name, values are escaped and cut
    /// at `LogLine.valueByteCount`.
    package func log(_ level: LogLevel, _ message: StaticString, _ fields: @autoclosure () -> [LogKey: String] = [:]) {
        guard level >= self.level else { return }
        let fields = fields().map { (name: $0.key.name, value: $0.value) }.sorted { $0.name < $1.name }
        let line = LogLine(time: now(), level: level, message: message.description, fields: fields)
        sink(format == .text ? line.text : line.json)
    }

    /// Writes `line` and a line end in one system call, so that lines of several threads do not mix. What the stream does not take at once
    /// is lost: a reader that stands still never stops the gateway.
    package static func writeToStandardError(_ line: String) { standardError.write(line) }

    private static let standardError = LogStream(descriptor: STDERR_FILENO)
}
