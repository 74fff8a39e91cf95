import Security

@testable import Configuration

/// Environments for tests, with files that exist only here.
struct Environment {
    static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// The least a daemon needs.
    static let least = ["OPENPUSH_DATABASE_URL": "postgresql:///push", "OPENPUSH_MASTER_KEY": key]

    var variables = least
    var files: [String: [UInt8]] = [:]

    func daemon(coreCount: Int = 4, userID: UInt32 = 1_000) throws(ConfigurationError) -> DaemonConfiguration {
        try DaemonConfiguration(environment: variables, coreCount: coreCount, userID: userID, readFile: readFile)
    }

    func certificates() -> CertificateReading { CertificateReading(environment: variables, readFile: readFile) }

    func administration(_ needs: Set<AdministrationConfiguration.Need>) throws(ConfigurationError) -> AdministrationConfiguration
    {
        try AdministrationConfiguration(environment: variables, needs: needs, readFile: readFile)
    }

    /// The mistakes of a daemon with one more variable, as `NAME: text`.
    static func mistakes(_ extra: [String: String], files: [String: [UInt8]] = [:]) -> [String] {
        let environment = Environment(variables: least.merging(extra) { $1 }, files: files)
        do {
            _ = try environment.daemon()
            return []
        } catch {
            return error.mistakes.map(\.description)
        }
    }

    private var readFile: (String) throws(SecurityError) -> [UInt8] {
        { [files] path throws(SecurityError) in
            guard let contents = files[path] else { throw .invalidInput(operation: "file", reason: "No such file or directory") }
            return contents
        }
    }
}
