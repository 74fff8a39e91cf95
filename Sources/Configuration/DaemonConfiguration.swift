package import Observability
package import Security

/// What `openpushd` reads from its environment, once, when it starts; `CertificateReading` reads certificates again.
/// `ConfigurationVariable` documents each variable.
package struct DaemonConfiguration: Sendable {
    /// libpq URI or keywords.
    package let databaseURL: Secret<String>
    /// One address or more.
    package let listen: [ListenAddress]
    /// Nil: requests come in clear.
    package let tls: ServerCertificate?
    /// How to reach APNs.
    package let apns: APNsConfiguration
    /// How to reach FCM.
    package let google: GoogleConfiguration
    /// Seals and opens stored keys.
    package let masterKey: Secret<SealingKey>
    /// Event loops to start, 1 to 64.
    package let eventLoopCount: Int
    /// How log lines are written.
    package let log: LogConfiguration
    /// How long a stopping process waits for what is in flight.
    package let drainTimeout: Duration
    /// Where workers note which pushes they put on the wire; nil: nowhere.
    package let journalDirectory: String?
    /// How long what has happened is kept, 1 to 3650 days.
    package let retentionDays: Int

    /// Reads all variables of `environment` and throws everything that is wrong at once.
    /// - Parameters:
    ///   - coreCount: how many event loops there are by default; brought into 1...64.
    ///   - userID: of this process, for the default of a directory's name.
    ///   - readFile: reads a file that a variable names.
    package init(
        environment: [String: String], coreCount: Int, userID: UInt32 = ProcessEnvironment.userID,
        readFile: @escaping (String) throws(SecurityError) -> [UInt8] = CredentialFile.read(path:)
    ) throws(ConfigurationError) {
        var reader = EnvironmentReader(environment, readFile: readFile)
        let database = reader.databaseURL()
        let masterKey = reader.masterKey()
        listen =
            reader.parsed(.listen, expected: ListenAddress.expected, ListenAddress.list)
            ?? [ListenAddress(host: "127.0.0.1", port: 8080)]
        tls = reader.serverCertificate()
        apns = reader.apns()
        google = reader.google()
        let loopRange = 1...64
        eventLoopCount = reader.integer(
            .eventLoops, default: min(max(coreCount, loopRange.lowerBound), loopRange.upperBound), in: loopRange)
        log = reader.log()
        drainTimeout = .seconds(reader.integer(.drainSeconds, default: 25, in: 0...3_600))
        journalDirectory = reader.journalDirectory(stateDirectory: environment["STATE_DIRECTORY"], userID: userID)
        retentionDays = reader.integer(.retentionDays, default: 30, in: 1...3_650)
        try reader.finish()
        guard let database, let masterKey else { preconditionFailure("a required variable was neither read nor refused") }
        self.databaseURL = database
        self.masterKey = masterKey
    }
}
