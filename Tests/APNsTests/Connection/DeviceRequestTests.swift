import Gateway
import Testing

@testable import APNs

@Suite("Device request") struct DeviceRequestTests {
    @Test("writes the token in lower case, long after short and short after long")
    func path() {
        var request = DeviceRequest()
        for bytes in [[0xAB, 0xCD], [UInt8](repeating: 0xF0, count: 200), [0x01], []] as [[UInt8]] {
            request.setToken(bytes.span)
            let hexadecimal = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            #expect(
                String(decoding: request.path[..<request.pathByteCount], as: UTF8.self) == "/3/device/" + hexadecimal)
        }
    }

    @Test("derives a version 8 identifier from notification and device")
    func identifier() throws {
        var request = DeviceRequest()
        let notification = NotificationID(rawValue: 0x0123_4567_89AB_CDEF)
        request.setIdentifier(notification: notification, device: 0x0FED_CBA9_8765_4321)
        let text = String(decoding: request.identifier, as: UTF8.self)
        #expect(text == "12345678-9abc-8def-8fed-cba987654321")
        #expect(UUID(text) == UUID.ofPush(notification: notification, device: 0x0FED_CBA9_8765_4321))
        request.setIdentifier(notification: notification, device: 0x0FED_CBA9_8765_4322)
        #expect(String(decoding: request.identifier, as: UTF8.self) != text)
    }

    @Test("does not double the suffix of a topic")
    func topic() {
        #expect(
            PushTemplate.topic(of: SenderRig.application(bundleID: "org.example.app")) == "org.example.app.push-type.liveactivity"
        )
        #expect(
            PushTemplate.topic(of: SenderRig.application(bundleID: "org.example.app.push-type.liveactivity"))
                == "org.example.app.push-type.liveactivity")
    }

    @Test(
        "names the service with its port, unless that is the one of HTTPS",
        arguments: [
            ("api.push.apple.com", 443, "api.push.apple.com"), ("api.push.apple.com", 2197, "api.push.apple.com:2197"),
            ("127.0.0.1", 8443, "127.0.0.1:8443"), ("::1", 8443, "[::1]:8443"), ("::1", 443, "[::1]"),
        ] as [(String, UInt16, String)])
    func authority(host: String, port: UInt16, authority: String) {
        #expect(APNsEndpoint(host: host, port: port).authority == authority)
    }
}
