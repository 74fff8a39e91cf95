package import HTTP

/// How FCM is reached. Tests shorten the times.
package struct FCMConfiguration: Sendable {
    /// `OPENPUSH_FCM_URL`.
    package var messages = HTTPOrigin(host: "fcm.googleapis.com")
    /// `OPENPUSH_GOOGLE_TOKEN_URL`.
    package var tokens = HTTPOrigin(host: "oauth2.googleapis.com")
    /// Messages a second of one project and one event loop. Source: Google's quota is 600,000 a minute of a project by default.
    package var messagesPerSecond = 10_000.0
    /// Most messages of an event loop that are with the client at once: what its connections carry.
    package var inFlightCount = 400
    /// Most connections to FCM of an event loop, of 100 streams each.
    package var connectionCount = 4
    /// How long a message may take, waiting for a stream included. Source: Google asks for 10 s at least.
    package var messageTimeout = Duration.seconds(15)
    /// How long a grant may take.
    package var tokenTimeout = Duration.seconds(15)
    /// How long pushes wait without any answer of FCM before they are handed back.
    package var connectionWait = Duration.seconds(30)
    /// Pause after a stream was refused.
    package var refusalRest = Duration.milliseconds(100)
    /// How often deadlines are looked at while pushes wait.
    package var tickInterval = Duration.milliseconds(250)
    /// Most batches a sender holds; another one is handed back unsent.
    package var batchCount = 1024
    /// For the connections themselves.
    package var client = HTTPClientConfiguration()

    /// The defaults.
    package init() {}
}
