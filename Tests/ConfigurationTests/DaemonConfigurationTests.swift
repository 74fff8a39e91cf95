import Observability
import Security
import Testing

@testable import Configuration

@Suite("Daemon configuration") struct DaemonConfigurationTests {
    @Test("has defaults for everything but the database and the master key") func hasDefaults() throws {
        let configuration = try Environment().daemon(coreCount: 6)
        #expect(configuration.databaseURL.exposed == "postgresql:///push")
        #expect(configuration.listen == [ListenAddress(host: "127.0.0.1", port: 8080)])
        #expect(configuration.tls == nil)
        #expect(configuration.apns.production == Endpoint(host: "api.push.apple.com", port: 443))
        #expect(configuration.apns.sandbox == Endpoint(host: "api.sandbox.push.apple.com", port: 443))
        #expect(configuration.apns.extraRootsPEM == nil)
        #expect(configuration.apns.connectionCount == 8)
        #expect(configuration.google.messages == Endpoint(host: "fcm.googleapis.com", port: 443))
        #expect(configuration.google.tokens == Endpoint(host: "oauth2.googleapis.com", port: 443))
        #expect(configuration.google.extraRootsPEM == nil && configuration.google.messagesPerSecond == 10_000)
        #expect(configuration.eventLoopCount == 6)
        #expect(configuration.log.level == .info)
        #expect(configuration.log.format == .text)
        #expect(configuration.drainTimeout == .seconds(25))
        #expect(configuration.retentionDays == 30)
    }

    @Test("brings the number of cores into its range", arguments: [(0, 1), (1, 1), (64, 64), (200, 64)])
    func boundsCores(coreCount: Int, loops: Int) throws {
        #expect(try Environment().daemon(coreCount: coreCount).eventLoopCount == loops)
    }

    @Test("takes every variable") func takesEverything() throws {
        let authority = try CertificateAuthority.generate(commonName: "Test")
        let issued = try authority.issue(hosts: ["localhost"])
        var environment = Environment()
        environment.variables.merge([
            "OPENPUSH_LISTEN": "127.0.0.1:0, [::1]:8443", "OPENPUSH_TLS_CERTIFICATE_FILE": "cert.pem",
            "OPENPUSH_TLS_KEY": String(decoding: issued.keyPEM, as: UTF8.self),
            "OPENPUSH_APNS_PRODUCTION_URL": "https://localhost:2197", "OPENPUSH_APNS_SANDBOX_URL": "HTTPS://[::1]:2198/",
            "OPENPUSH_APNS_CA_FILE": "ca.pem", "OPENPUSH_APNS_CONNECTIONS": "64", "OPENPUSH_LOG_LEVEL": "debug",
            "OPENPUSH_FCM_URL": "https://localhost:2199", "OPENPUSH_GOOGLE_TOKEN_URL": "https://localhost",
            "OPENPUSH_GOOGLE_CA_FILE": "ca.pem", "OPENPUSH_FCM_MESSAGES_PER_SECOND": "500",
            "OPENPUSH_LOG_FORMAT": "json", "OPENPUSH_EVENT_LOOPS": "1", "OPENPUSH_DRAIN_SECONDS": "0",
            "OPENPUSH_RETENTION_DAYS": "3650", "PATH": "/usr/bin", "OPENPUSHD": "not ours",
        ]) { $1 }
        environment.files = ["cert.pem": issued.certificatePEM, "ca.pem": authority.certificatePEM]
        let configuration = try environment.daemon()
        #expect(configuration.listen.map(\.description) == ["127.0.0.1:0", "[::1]:8443"])
        #expect(configuration.tls?.keyPEM.exposed == issued.keyPEM)
        #expect(configuration.apns.production == Endpoint(host: "localhost", port: 2197))
        #expect(configuration.apns.sandbox == Endpoint(host: "::1", port: 2198))
        #expect(configuration.apns.extraRootsPEM != nil)
        #expect(configuration.apns.connectionCount == 64)
        #expect(configuration.google.messages == Endpoint(host: "localhost", port: 2199))
        #expect(configuration.google.tokens == Endpoint(host: "localhost", port: 443))
        #expect(configuration.google.extraRootsPEM != nil && configuration.google.messagesPerSecond == 500)
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.format == .json)
        #expect(configuration.eventLoopCount == 1)
        #expect(configuration.drainTimeout == .zero)
        #expect(configuration.retentionDays == 3_650)
    }

    @Test("reports every mistake at once, sorted by name, without any value") func reportsAll() {
        let environment = Environment(variables: [
            "OPENPUSH_DATABASE_URL": "hunter2", "OPENPUSH_MASTER_KEY": "hunter2", "OPENPUSH_LISTEN": "hunter2",
            "OPENPUSH_TLS_KEY": "-----BEGIN hunter2", "OPENPUSH_APNS_PRODUCTION_URL": "https://user:hunter2@host",
            "OPENPUSH_APNS_SANDBOX_URL": "http://hunter2", "OPENPUSH_APNS_CONNECTIONS": "65",
            "OPENPUSH_EVENT_LOOPS": "0", "OPENPUSH_LOG_LEVEL": "hunter2", "OPENPUSH_LOG_FORMAT": "",
            "OPENPUSH_DRAIN_SECONDS": "-1",
            "OPENPUSH_LISTN": "hunter2", "OPENPUSH_APNS_CA_FILE": "hunter2",
        ])
        let error = #expect(throws: ConfigurationError.self) { try environment.daemon() }
        #expect(
            error?.mistakes.map(\.variable) == [
                "OPENPUSH_APNS_CA_FILE", "OPENPUSH_APNS_CONNECTIONS", "OPENPUSH_APNS_PRODUCTION_URL", "OPENPUSH_APNS_SANDBOX_URL",
                "OPENPUSH_DATABASE_URL", "OPENPUSH_DRAIN_SECONDS", "OPENPUSH_EVENT_LOOPS", "OPENPUSH_LISTEN", "OPENPUSH_LISTN",
                "OPENPUSH_LOG_FORMAT", "OPENPUSH_LOG_LEVEL", "OPENPUSH_MASTER_KEY", "OPENPUSH_TLS_KEY",
            ])
        #expect(error?.description.contains("hunter2") == false)
        #expect(error?.description.split(separator: "\n").count == 13)
    }

    @Test(
        "keeps journals where it is told, else where systemd says, else in a directory of this user; or nowhere",
        arguments: [
            ([:], "/var/tmp/openpushd-1234"), (["STATE_DIRECTORY": "/var/lib/openpushd"], "/var/lib/openpushd/journal"),
            (["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"], "/var/lib/a/journal"),
            (["STATE_DIRECTORY": "relative"], "/var/tmp/openpushd-1234"),
            (["STATE_DIRECTORY": "/var/lib/a", "OPENPUSH_JOURNAL_DIRECTORY": "/srv/journal"], "/srv/journal"),
            (["STATE_DIRECTORY": "/var/lib/a", "OPENPUSH_JOURNAL_DIRECTORY": "off"], nil),
        ] as [([String: String], String?)])
    func choosesJournalDirectory(variables: [String: String], directory: String?) throws {
        var environment = Environment()
        environment.variables.merge(variables) { $1 }
        #expect(try environment.daemon(userID: 1_234).journalDirectory == directory)
    }

    @Test("refuses a relative path for journals", arguments: ["journal", "./off", "OFF"])
    func refusesRelativeJournalDirectory(path: String) {
        #expect(
            Environment.mistakes(["OPENPUSH_JOURNAL_DIRECTORY": path])
                == ["OPENPUSH_JOURNAL_DIRECTORY: must be an absolute path, or off"])
    }

    @Test("requires the database and the master key") func requires() {
        let error = #expect(throws: ConfigurationError.self) { try Environment(variables: [:]).daemon() }
        #expect(
            error?.description == "OPENPUSH_DATABASE_URL: is required\nOPENPUSH_MASTER_KEY: is required")
    }

    @Test("does not print its secrets") func hidesSecrets() throws {
        let configuration = try Environment().daemon()
        var dumped = "\(configuration)"
        dump(configuration, to: &dumped)
        #expect(!dumped.contains("postgresql:///push"))
        #expect(!dumped.contains("bytes: "))
    }

    @Test(
        "refuses numbers that are none or out of range",
        arguments: ["OPENPUSH_APNS_CONNECTIONS", "OPENPUSH_EVENT_LOOPS"],
        ["", "0", "65", "-1", "+1", "1.0", " 1", "99999999999999999999"])
    func refusesNumbers(name: String, value: String) {
        let problem = value.isEmpty ? "is empty; leave it out for the default" : "must be a whole number from 1 to 64"
        #expect(Environment.mistakes([name: value]) == ["\(name): \(problem)"])
    }

    @Test("bounds the drain to an hour") func boundsDrain() {
        #expect(Environment.mistakes(["OPENPUSH_DRAIN_SECONDS": "3600"]).isEmpty)
        #expect(
            Environment.mistakes(["OPENPUSH_DRAIN_SECONDS": "3601"])
                == ["OPENPUSH_DRAIN_SECONDS: must be a whole number from 0 to 3600"])
    }

    @Test(
        "reads the master key in both alphabets",
        arguments: [
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_4",
            "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_4=", "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/4=",
        ])
    func readsMasterKey(text: String) { #expect(Environment.mistakes(["OPENPUSH_MASTER_KEY": text]).isEmpty) }

    @Test(
        "refuses a master key of another length or alphabet",
        arguments: [
            "AAECAwQFBgcICQoLDA0ODw==", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ==",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= ",
        ])
    func refusesMasterKey(text: String) { #expect(Environment.mistakes(["OPENPUSH_MASTER_KEY": text]).count == 1) }
}
