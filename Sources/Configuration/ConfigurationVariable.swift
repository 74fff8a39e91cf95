/// Every variable of the environment that the programs read. Each has a second form, its name with `_FILE` behind it, which names a file
/// that holds the value; a line end at the end of the file does not count.
package enum ConfigurationVariable: String, CaseIterable, Sendable {
    /// Where PostgreSQL is: a libpq URI or keywords. Required; secret.
    case databaseURL = "OPENPUSH_DATABASE_URL"
    /// Where to listen: `address:port`, several separated by commas. Default `127.0.0.1:8080`.
    case listen = "OPENPUSH_LISTEN"
    /// The server's certificate chain: PEM, or the path of a file with it. With the key or not at all.
    case tlsCertificate = "OPENPUSH_TLS_CERTIFICATE"
    /// The key of the server's certificate: PEM, or the path of a file with it. Secret.
    case tlsKey = "OPENPUSH_TLS_KEY"
    /// APNs for production. Default `https://api.push.apple.com`.
    case apnsProductionURL = "OPENPUSH_APNS_PRODUCTION_URL"
    /// APNs for development. Default `https://api.sandbox.push.apple.com`.
    case apnsSandboxURL = "OPENPUSH_APNS_SANDBOX_URL"
    /// Where pushes to broadcast channels go, for production. Default what `OPENPUSH_APNS_PRODUCTION_URL` says.
    case broadcastProductionURL = "OPENPUSH_APNS_BROADCAST_PRODUCTION_URL"
    /// The same for development. Default what `OPENPUSH_APNS_SANDBOX_URL` says.
    case broadcastSandboxURL = "OPENPUSH_APNS_BROADCAST_SANDBOX_URL"
    /// Where broadcast channels of production are managed. Default `https://api-manage-broadcast.push.apple.com:2196`.
    case channelsProductionURL = "OPENPUSH_APNS_CHANNELS_PRODUCTION_URL"
    /// The same for development. Default `https://api-manage-broadcast.sandbox.push.apple.com:2195`.
    case channelsSandboxURL = "OPENPUSH_APNS_CHANNELS_SANDBOX_URL"
    /// Roots APNs may use beside the system's: PEM, or the path of a file with it. Mostly given as `OPENPUSH_APNS_CA_FILE`.
    case apnsRoots = "OPENPUSH_APNS_CA"
    /// Connections of one pool to APNs. Default 8, 1 to 64.
    case apnsConnections = "OPENPUSH_APNS_CONNECTIONS"
    /// FCM. Default `https://fcm.googleapis.com`.
    case fcmURL = "OPENPUSH_FCM_URL"
    /// Where Google gives access tokens, at the path `/token`. Default `https://oauth2.googleapis.com`.
    case googleTokenURL = "OPENPUSH_GOOGLE_TOKEN_URL"
    /// Roots Google may use beside the system's: PEM, or the path of a file with it. Mostly given as `OPENPUSH_GOOGLE_CA_FILE`.
    case googleRoots = "OPENPUSH_GOOGLE_CA"
    /// Messages a second that this process sends through FCM for one project. Default 10,000, 1 to 1,000,000.
    case fcmMessagesPerSecond = "OPENPUSH_FCM_MESSAGES_PER_SECOND"
    /// What seals stored keys: 32 bytes in base64. Required; secret.
    case masterKey = "OPENPUSH_MASTER_KEY"
    /// Where workers note which pushes they put on the wire: an absolute path, or `off`. Default `journal` below systemd's
    /// `STATE_DIRECTORY`, without that `/var/tmp/openpushd-UID`.
    case journalDirectory = "OPENPUSH_JOURNAL_DIRECTORY"
    /// Least level of log lines: debug, info, warning or error. Default info.
    case logLevel = "OPENPUSH_LOG_LEVEL"
    /// Form of log lines: text or json. Default text.
    case logFormat = "OPENPUSH_LOG_FORMAT"
    /// Event loops, each a thread. Default the number of cores, 1 to 64.
    case eventLoops = "OPENPUSH_EVENT_LOOPS"
    /// Seconds a stopping process waits for what is in flight. Default 25, 0 to 3600.
    case drainSeconds = "OPENPUSH_DRAIN_SECONDS"
    /// Days for which deliveries, taps, finished notifications and ended activities are kept. Default 30, 1 to 3650. Idempotency keys
    /// are kept for 30 days whatever this says, and the notifications they lead to as long as they are.
    case retentionDays = "OPENPUSH_RETENTION_DAYS"

    /// What every variable of this project begins with; an unknown one is most likely misspelt.
    static let prefix = "OPENPUSH_"

    /// The name of the form that names a file.
    var fileName: String { rawValue + "_FILE" }
}
