import Testing

@testable import Security

/// A client and a server session that hand each other ciphertext in memory.
struct TLSPair {
    /// The authority that most tests trust; made once.
    static let authority = Result { () throws(SecurityError) in try CertificateAuthority.generate(commonName: "Test authority") }

    let client: TLSSession
    let server: TLSSession

    /// Connects to `host` a server that holds a certificate for `certified`.
    init(
        host: String = "push.example", certified: [String] = ["push.example"], trusting roots: [UInt8]? = nil,
        clientProtocols: [String] = [], serverProtocols: [String] = []
    ) throws {
        let authority = try Self.authority.get()
        let issued = try authority.issue(hosts: certified)
        let serverContext = try TLSContext.server(
            certificateChainPEM: issued.certificatePEM, privateKeyPEM: issued.keyPEM, applicationProtocols: serverProtocols)
        let clientContext = try TLSContext.client(
            extraRootsPEM: roots ?? authority.certificatePEM, applicationProtocols: clientProtocols)
        client = try TLSSession(client: clientContext, host: host)
        server = try TLSSession(server: serverContext)
    }

    /// Carries what waits in both directions once; false when nothing waited.
    @discardableResult func exchange() -> Bool {
        let waiting = client.pendingCiphertextByteCount + server.pendingCiphertextByteCount
        Self.carry(from: client, to: server)
        Self.carry(from: server, to: client)
        return waiting > 0
    }

    static func carry(from sender: TLSSession, to receiver: TLSSession) {
        sender.withPendingCiphertext { bytes in
            receiver.receive(bytes)
            return bytes.count
        }
    }

    /// Takes all ciphertext that waits in `session`.
    static func takeCiphertext(of session: TLSSession) -> [UInt8] {
        var taken: [UInt8] = []
        session.withPendingCiphertext { bytes in
            for index in bytes.indices { taken.append(bytes[index]) }
            return bytes.count
        }
        return taken
    }

    /// Runs the handshake to its end on both sides.
    func shakeHands() throws(SecurityError) {
        var isDone = false
        var turns = 0
        while !isDone {
            let client = try client.handshake()
            exchange()
            let server = try server.handshake()
            exchange()
            isDone = client && server
            turns += 1
            precondition(turns < 10, "a handshake takes few turns")
        }
    }

    /// Everything `session` can read now, and how the reading ended.
    static func readAll(_ session: TLSSession, limit: Int = 1 << 20) throws -> (bytes: [UInt8], end: TLSReadResult) {
        var bytes: [UInt8] = []
        while true {
            let result = try session.read(into: &bytes, limit: limit)
            guard case .bytes = result else { return (bytes, result) }
        }
    }
}
