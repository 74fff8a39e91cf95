package import Networking
package import Security

/// How a simulator starts.
package struct SimulatorConfiguration: Sendable {
    /// Where pushes for production are taken. Default: loopback, any free port.
    package var productionAddress = SocketAddress.loopback
    /// Where pushes for the sandbox are taken. Default: loopback, any free port.
    package var sandboxAddress = SocketAddress.loopback
    /// Where Google is played: the token endpoint and FCM. Default: loopback, any free port.
    package var googleAddress = SocketAddress.loopback
    /// Service accounts known from the start.
    package var googleAccounts: [GoogleAccount] = []
    /// Where channels of production are managed. Default: loopback, any free port.
    package var productionManagementAddress = SocketAddress.loopback
    /// Where channels of the sandbox are managed. Default: loopback, any free port.
    package var sandboxManagementAddress = SocketAddress.loopback
    /// Where the control listener is; nil for none, which is the default: a test in the same process needs none.
    package var controlAddress: SocketAddress?
    /// Signs the certificate of the push listeners; nil makes a new one.
    package var certificateAuthority: CertificateAuthority?
    /// Names and addresses the certificate is good for.
    package var hosts = ["localhost", "127.0.0.1", "::1"]
    /// Threads that serve connections, 1 or more. Default 1.
    package var eventLoopCount = 1
    /// Public keys known from the start.
    package var keys: [ProviderKey] = []
    package var settings = SimulatorSettings()
    /// The time in milliseconds since 1970. Default: the system's.
    package var clock: @Sendable () -> Int64 = SystemClock.milliseconds

    /// The defaults.
    package init() {}
}

extension SocketAddress {
    /// Port 0 of 127.0.0.1: any free port of this machine.
    package static var loopback: SocketAddress {
        guard let address = SocketAddress(ipv4: "127.0.0.1", port: 0) else { preconditionFailure("127.0.0.1 is an address") }
        return address
    }
}
