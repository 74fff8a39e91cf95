/// What streams of events may cost. Every value is a parameter so that tests can make it tiny.
package struct EventLimits: Sendable {
    /// Time between two looks at a notification, however many streams show it. Default 1 s: a chart moves no faster.
    package var tick: Duration = .seconds(1)
    /// Ticks without a change after which a comment shows that the stream is alive. Default 15: proxies cut what is silent for 30 s
    /// or more.
    package var heartbeatTickCount = 15
    /// Ticks between two looks whether the keys of the streams are still in force. Default 5.
    package var keyLookTickCount = 5
    /// Ticks after which a stream ends whatever happens; the client comes back with its `Last-Event-ID`. Default an hour.
    package var longestTickCount = 3_600
    /// Most streams of an app, in one process. More are answered 429.
    package var streamsOfApplicationCount = 100
    /// Most streams of one process. More are answered 503.
    package var streamCount = 1_000

    /// How long a client waits before it comes back, in milliseconds; sent as `retry:`.
    static let reconnectMilliseconds = 2_000
    /// Seconds after which a refused stream should be asked for again.
    static let retrySeconds = 5

    /// The defaults.
    package init() {}
}
