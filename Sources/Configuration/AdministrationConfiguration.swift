package import Observability
package import Security

/// What `openpushctl` reads from the same environment as the daemon: the database always, the rest where the command needs it.
///
/// Variables that only the daemon reads may be there and are not looked at; unknown ones are refused here too.
package struct AdministrationConfiguration: Sendable {
    /// What a command needs beside the database.
    package enum Need: Sendable {
        /// The command seals or opens stored keys.
        case masterKey
        /// The command speaks to APNs and FCM.
        case pushServices
    }

    /// libpq URI or keywords.
    package let databaseURL: Secret<String>
    /// There when the command needs it.
    package let masterKey: Secret<SealingKey>?
    /// There when the command needs them.
    package let apns: APNsConfiguration?
    package let google: GoogleConfiguration?

    /// Reads what is needed and throws everything that is wrong at once.
    package init(
        environment: [String: String], needs: Set<Need> = [],
        readFile: @escaping (String) throws(SecurityError) -> [UInt8] = CredentialFile.read(path:)
    ) throws(ConfigurationError) {
        var reader = EnvironmentReader(environment, readFile: readFile)
        let database = reader.databaseURL()
        masterKey = needs.contains(.masterKey) ? reader.masterKey() : nil
        apns = needs.contains(.pushServices) ? reader.apns() : nil
        google = needs.contains(.pushServices) ? reader.google() : nil
        try reader.finish()
        guard let database else { preconditionFailure("a required variable was neither read nor refused") }
        databaseURL = database
    }
}
