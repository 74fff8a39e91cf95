import APNs
import Configuration
import FCM
import HTTP
import Observability
import Security

/// Makes what sessions are made from of the certificates that are configured, and puts those that were read again into use.
struct Certificates: Sendable {
    let services: [LoopServices]
    let first: FirstLoopServices
    let logger: Logger

    /// For connections to APNs and to Google: the system's roots and further ones.
    static func client(extraRootsPEM: [UInt8]?) throws(SecurityError) -> TLSContext {
        try TLSContext.client(extraRootsPEM: extraRootsPEM, applicationProtocols: ["h2"])
    }

    /// For connections of clients.
    static func server(_ certificate: ServerCertificate) throws(SecurityError) -> TLSContext {
        try TLSContext.server(
            certificateChainPEM: certificate.chainPEM, privateKeyPEM: certificate.keyPEM.exposed,
            applicationProtocols: ["h2", "http/1.1"])
    }

    /// Uses what is read, each time it is read again, until the task is cancelled. What cannot be used changes nothing.
    func follow(_ readings: AsyncStream<CertificateReading>) async {
        for await reading in readings {
            await useServerCertificate(reading)
            await useRoots(reading)
            await useGoogleRoots(reading)
        }
    }

    private func useServerCertificate(_ reading: CertificateReading) async {
        do {
            guard let certificate = try reading.serverCertificate.get() else { return }
            let context = try Self.server(certificate)
            for service in services { await service.server.replace(tls: context) }
            logger.log(.info, "Read the server's certificate again; new connections use it")
        } catch {
            refuse("The server's certificate was not replaced: what was read again cannot be used", error)
        }
    }

    private func useRoots(_ reading: CertificateReading) async {
        do {
            let context = try Self.client(extraRootsPEM: try reading.apnsRootsPEM.get())
            for service in services {
                await service.sender.replaceTLS(context)
                await service.broadcastSender.replaceTLS(context)
            }
            await first.channelManager.replaceTLS(context)
            logger.log(.info, "Read the roots for APNs again; new connections use them")
        } catch {
            refuse("The roots for APNs were not replaced: what was read again cannot be used", error)
        }
    }

    private func useGoogleRoots(_ reading: CertificateReading) async {
        do {
            let context = try Self.client(extraRootsPEM: try reading.googleRootsPEM.get())
            for service in services { await service.fcmSender.replaceTLS(context) }
            logger.log(.info, "Read the roots for Google again; new connections use them")
        } catch {
            refuse("The roots for Google were not replaced: what was read again cannot be used", error)
        }
    }

    private func refuse(_ message: StaticString, _ error: any Error) {
        logger.log(.error, message, [.reason: "\(error)"])
    }
}
