import Gateway
import HTTP

/// The two header values that differ from push to push, written in place into buffers that are used again.
struct DeviceRequest {
    private static let prefix = Array("/3/device/".utf8)

    /// `/3/device/` and the token in lower-case hexadecimal.
    private(set) var path: [UInt8] = DeviceRequest.prefix
    private(set) var pathByteCount = DeviceRequest.prefix.count
    /// The `apns-id`.
    private(set) var identifier = [UInt8](repeating: UInt8(ascii: "-"), count: 36)

    /// Writes the path of one device.
    mutating func setToken(_ bytes: Span<UInt8>) {
        let needed = Self.prefix.count + 2 * bytes.count
        if path.count < needed { path.append(contentsOf: repeatElement(0, count: needed - path.count)) }
        pathByteCount = needed
        var target = path.mutableSpan
        var position = Self.prefix.count
        for index in bytes.indices {
            let digits = Hexadecimal.digits(of: bytes[index])
            target[position] = digits.high
            target[position + 1] = digits.low
            position += 2
        }
    }

    /// Writes the identifier of one push: the same whenever it is sent again.
    mutating func setIdentifier(notification: NotificationID, device: Int64) {
        let identifier = UUID.ofPush(notification: notification, device: device)
        var target = self.identifier.mutableSpan
        var position = 0
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { position += 1 }
            let half = index < 8 ? identifier.high : identifier.low
            let byte = UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index & 7)))
            let digits = Hexadecimal.digits(of: byte)
            target[position] = digits.high
            target[position + 1] = digits.low
            position += 2
        }
    }

    /// Opens the request of one push on a session; the slot, or nil when no stream could be opened.
    mutating func submit(
        on session: HTTP2ClientSession, _ template: HTTP2RequestTemplate, token: Span<UInt8>, notification: NotificationID,
        device: Int64, body: Int
    ) throws(HTTP2Error) -> Int? {
        setToken(token)
        setIdentifier(notification: notification, device: device)
        return try session.submit(
            template, path: path.span.extracting(0..<pathByteCount), identifier: identifier.span, body: body)
    }
}

/// Lower-case hexadecimal digits.
private enum Hexadecimal {
    static func digits(of byte: UInt8) -> (high: UInt8, low: UInt8) { (digit(byte >> 4), digit(byte & 0xF)) }

    /// Without a branch: "a" lies 39 behind what would follow "9".
    private static func digit(_ value: UInt8) -> UInt8 { value &+ 48 &+ (((value &+ 6) >> 4) &* 39) }
}
