import Security

/// What the variables of certificates hold now: files may have been replaced since the process started.
///
/// Each part stands for itself, so that one that cannot be used does not keep the other from being replaced.
package struct CertificateReading: Sendable {
    /// What clients are shown; nil: requests come in clear.
    package let serverCertificate: Result<ServerCertificate?, ConfigurationError>
    /// Roots trusted for APNs beside the system's, PEM.
    package let apnsRootsPEM: Result<[UInt8]?, ConfigurationError>
    /// Roots trusted for Google beside the system's, PEM.
    package let googleRootsPEM: Result<[UInt8]?, ConfigurationError>

    /// Reads them. Blocks for as long as files do.
    package init(environment: [String: String]) {
        self.init(environment: environment, readFile: CredentialFile.read(path:))
    }

    init(environment: [String: String], readFile: @escaping (String) throws(SecurityError) -> [UInt8]) {
        serverCertificate = Self.read(environment, readFile) { $0.serverCertificate() }
        apnsRootsPEM = Self.read(environment, readFile) { $0.apnsRoots() }
        googleRootsPEM = Self.read(environment, readFile) { $0.googleRoots() }
    }

    private static func read<Value>(
        _ environment: [String: String], _ readFile: @escaping (String) throws(SecurityError) -> [UInt8],
        _ part: (inout EnvironmentReader) -> Value
    ) -> Result<Value, ConfigurationError> {
        var reader = EnvironmentReader(environment, readFile: readFile)
        let value = part(&reader)
        do {
            try reader.finish()
            return .success(value)
        } catch {
            return .failure(error)
        }
    }
}
