package import Observability
import Security

/// The certificate a server shows, and its key.
package struct ServerCertificate: Sendable {
    /// PEM, the server's own certificate first.
    package let chainPEM: [UInt8]
    /// PEM; belongs to the certificate.
    package let keyPEM: Secret<[UInt8]>
}

/// How to reach APNs.
package struct APNsConfiguration: Sendable {
    /// The host for apps from the App Store and TestFlight.
    package let production: Endpoint
    /// The host for apps run from Xcode.
    package let sandbox: Endpoint
    /// Where pushes to broadcast channels go.
    package let broadcastProduction: Endpoint
    package let broadcastSandbox: Endpoint
    /// Where broadcast channels are managed.
    package let channelsProduction: Endpoint
    package let channelsSandbox: Endpoint
    /// Roots trusted beside the system's, PEM.
    package let extraRootsPEM: [UInt8]?
    /// Connections of one pool, 1 to 64.
    package let connectionCount: Int
}

/// How to reach FCM.
package struct GoogleConfiguration: Sendable {
    /// Where messages are sent.
    package let messages: Endpoint
    /// Where access tokens are given.
    package let tokens: Endpoint
    /// Roots trusted beside the system's, PEM.
    package let extraRootsPEM: [UInt8]?
    /// Messages a second of one project, 1 to 1,000,000.
    package let messagesPerSecond: Int
}

/// How log lines are written.
package struct LogConfiguration: Sendable {
    /// Least level that is written.
    package let level: LogLevel
    /// Form of a line.
    package let format: LogFormat
}

extension EnvironmentReader {
    mutating func databaseURL() -> Secret<String>? {
        guard let text = required(.databaseURL) else { return nil }
        let isURI = text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
        guard isURI || text.contains("="), !text.utf8.contains(0) else {
            refuse(.databaseURL, .malformed(expected: "a URI (postgresql://...) or keywords (host=... dbname=...) of libpq"))
            return nil
        }
        return Secret(text)
    }

    mutating func masterKey() -> Secret<SealingKey>? {
        guard let text = required(.masterKey) else { return nil }
        // 32 bytes leave room for one padding character, which the URL alphabet may have or not.
        guard let bytes = Base64.decode(text) ?? Base64.decodeURL(text.hasSuffix("=") ? text.dropLast() : text[...]),
            let key = SealingKey(bytes: bytes)
        else {
            refuse(.masterKey, .malformed(expected: "32 bytes in base64 (openssl rand -base64 32)"))
            return nil
        }
        return Secret(key)
    }

    mutating func serverCertificate() -> ServerCertificate? {
        let chain = pem(.tlsCertificate)
        let key = pem(.tlsKey)
        if isGiven(.tlsCertificate), !isGiven(.tlsKey) { refuse(.tlsCertificate, .needs(.tlsKey)) }
        if isGiven(.tlsKey), !isGiven(.tlsCertificate) { refuse(.tlsKey, .needs(.tlsCertificate)) }
        guard let chain, let key else { return nil }
        do {
            _ = try TLSContext.server(certificateChainPEM: chain, privateKeyPEM: key, applicationProtocols: [])
        } catch {
            // Either may be the wrong one: the reason says which could not be read, or that they do not belong together.
            refuse(.tlsCertificate, .unusable(error.description))
            refuse(.tlsKey, .unusable(error.description))
        }
        return ServerCertificate(chainPEM: chain, keyPEM: Secret(key))
    }

    mutating func apnsRoots() -> [UInt8]? { roots(.apnsRoots) }

    mutating func googleRoots() -> [UInt8]? { roots(.googleRoots) }

    private mutating func roots(_ variable: ConfigurationVariable) -> [UInt8]? {
        guard let roots = pem(variable) else { return nil }
        do {
            _ = try TLSContext.client(extraRootsPEM: roots, applicationProtocols: [])
        } catch {
            refuse(variable, .unusable(error.description))
        }
        return roots
    }

    mutating func google() -> GoogleConfiguration {
        GoogleConfiguration(
            messages: endpoint(.fcmURL) ?? Endpoint(host: "fcm.googleapis.com", port: 443),
            tokens: endpoint(.googleTokenURL) ?? Endpoint(host: "oauth2.googleapis.com", port: 443),
            extraRootsPEM: googleRoots(),
            messagesPerSecond: integer(.fcmMessagesPerSecond, default: 10_000, in: 1...1_000_000))
    }

    mutating func apns() -> APNsConfiguration {
        let roots = apnsRoots()
        let production = endpoint(.apnsProductionURL) ?? Endpoint(host: "api.push.apple.com", port: 443)
        let sandbox = endpoint(.apnsSandboxURL) ?? Endpoint(host: "api.sandbox.push.apple.com", port: 443)
        return APNsConfiguration(
            production: production, sandbox: sandbox, broadcastProduction: endpoint(.broadcastProductionURL) ?? production,
            broadcastSandbox: endpoint(.broadcastSandboxURL) ?? sandbox,
            channelsProduction: endpoint(.channelsProductionURL)
                ?? Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196),
            channelsSandbox: endpoint(.channelsSandboxURL)
                ?? Endpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195),
            extraRootsPEM: roots, connectionCount: integer(.apnsConnections, default: 8, in: 1...64))
    }

    /// Nil when it is switched off.
    ///
    /// - Parameter stateDirectory: what systemd says, if anything.
    mutating func journalDirectory(stateDirectory: String?, userID: UInt32) -> String? {
        guard isGiven(.journalDirectory) else {
            // systemd separates several by colons; the first is the one that is named after the program.
            let state = stateDirectory?.prefix { $0 != ":" } ?? ""
            return state.hasPrefix("/") ? "\(state)/journal" : "/var/tmp/openpushd-\(userID)"
        }
        let path = parsed(.journalDirectory, expected: "an absolute path, or off") { text in
            text == "off" || text.hasPrefix("/") && !text.utf8.contains(0) ? text : nil
        }
        return path == "off" ? nil : path
    }

    mutating func log() -> LogConfiguration {
        LogConfiguration(
            level: choice(.logLevel, default: .info, of: LogLevel.allCases.map { ($0.description, $0) }),
            format: choice(.logFormat, default: .text, of: LogFormat.allCases.map { ($0.rawValue, $0) }))
    }

    private mutating func endpoint(_ variable: ConfigurationVariable) -> Endpoint? {
        parsed(variable, expected: Endpoint.expected, Endpoint.init(url:))
    }
}
