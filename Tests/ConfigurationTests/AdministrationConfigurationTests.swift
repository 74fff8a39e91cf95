import Observability
import Testing

@testable import Configuration

@Suite("Administration configuration") struct AdministrationConfigurationTests {
    @Test("needs the database only, and does not look at what only the daemon reads") func needsDatabase() throws {
        let environment = Environment(variables: [
            "OPENPUSH_DATABASE_URL": "dbname=push", "OPENPUSH_LISTEN": "nonsense", "OPENPUSH_MASTER_KEY": "nonsense",
            "OPENPUSH_APNS_PRODUCTION_URL": "nonsense",
        ])
        let configuration = try environment.administration([])
        #expect(configuration.databaseURL.exposed == "dbname=push")
        #expect(configuration.masterKey == nil)
        #expect(configuration.apns == nil)
        #expect(configuration.google == nil)
    }

    @Test("gives what a command needs") func givesNeeds() throws {
        let configuration = try Environment().administration([.masterKey, .pushServices])
        #expect(configuration.masterKey != nil)
        #expect(configuration.apns?.production.host == "api.push.apple.com")
        #expect(configuration.google?.messages.host == "fcm.googleapis.com")
    }

    @Test("reports what a command needs and misses, and unknown variables") func reports() {
        let environment = Environment(variables: ["OPENPUSH_APNS_SANDBOX_URL": "http://x", "OPENPUSH_DATABSE_URL": "x"])
        let error = #expect(throws: ConfigurationError.self) { try environment.administration([.masterKey, .pushServices]) }
        #expect(
            error?.mistakes.map(\.variable) == [
                "OPENPUSH_APNS_SANDBOX_URL", "OPENPUSH_DATABASE_URL", "OPENPUSH_DATABSE_URL", "OPENPUSH_MASTER_KEY",
            ])
    }
}
