import COpenSSL

/// The protocols one side speaks (ALPN, RFC 7301), in its order of preference.
final class ApplicationProtocols: Sendable {
    /// Each name with its length in front, as on the wire.
    let wireFormat: [UInt8]
    private let names: [[UInt8]]

    /// Takes names such as `h2`, each of 1 to 255 bytes.
    init(_ names: [String]) {
        self.names = names.map { Array($0.utf8) }
        precondition(self.names.allSatisfy { (1...255).contains($0.count) }, "an ALPN name has 1 to 255 bytes")
        wireFormat = self.names.flatMap { [UInt8($0.count)] + $0 }
    }

    /// Where in the peer's list the first of our names lies; nil when nothing is in common.
    func choose(from offer: Span<UInt8>) -> Range<Int>? {
        for name in names {
            var start = 0
            while start < offer.count {
                let end = start + 1 + Int(offer[start])
                guard end <= offer.count else { break }
                if offer.extracting(start + 1..<end).holds(name) { return start + 1..<end }
                start = end
            }
        }
        return nil
    }
}

extension Span<UInt8> {
    fileprivate func holds(_ bytes: [UInt8]) -> Bool {
        guard count == bytes.count else { return false }
        for index in indices where self[index] != bytes[index] { return false }
        return true
    }
}

/// Called by OpenSSL on the server side of a handshake; `argument` is the context's `ApplicationProtocols`.
/// A client that offers only protocols we do not speak is refused, as RFC 7301 3.2 asks.
func selectApplicationProtocol(
    session: OpaquePointer?, chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, chosenCount: UnsafeMutablePointer<UInt8>?,
    offer: UnsafePointer<UInt8>?, offerCount: UInt32, argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let argument = unsafe argument, let offer = unsafe offer else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let protocols = unsafe Unmanaged<ApplicationProtocols>.fromOpaque(argument).takeUnretainedValue()
    let list = unsafe UnsafeBufferPointer(start: offer, count: Int(offerCount))
    guard let range = unsafe protocols.choose(from: list.span) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe chosen?.pointee = offer + range.lowerBound
    unsafe chosenCount?.pointee = UInt8(range.count)
    return SSL_TLSEXT_ERR_OK
}
