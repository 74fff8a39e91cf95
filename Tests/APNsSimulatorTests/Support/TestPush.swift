/// A push as a sender would make it; every part can be spoiled.
struct TestPush: Sendable {
    var method = "POST"
    var path = "/3/device/" + TestPush.token(1)
    var headers: [(String, String)]
    var body: [UInt8]

    /// A good update for `token`.
    init(
        _ authorization: String?, token: String = TestPush.token(1), timestamp: Int64 = TestSimulator.seconds,
        event: String = "update"
    ) {
        path = "/3/device/\(token)"
        headers = [
            ("apns-topic", "com.example.app.push-type.liveactivity"), ("apns-push-type", "liveactivity"), ("apns-priority", "10"),
            ("apns-expiration", "\(TestSimulator.seconds + 3600)"), ("apns-id", "123e4567-e89b-12d3-a456-426655440000"),
        ]
        if let authorization { headers.insert(("authorization", authorization), at: 0) }
        body = Array(#"{"aps":{"timestamp":\#(timestamp),"event":"\#(event)","content-state":{"score":1}}}"#.utf8)
    }

    /// Sets a header field, or takes it away.
    func with(_ name: String, _ value: String?) -> TestPush {
        var push = self
        push.headers.removeAll { $0.0 == name }
        if let value { push.headers.append((name, value)) }
        return push
    }

    /// With another body.
    func with(body: String) -> TestPush {
        var push = self
        push.body = Array(body.utf8)
        return push
    }

    /// Everything that goes into the header block.
    var fields: [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", path)] + headers
    }

    /// A device token of 80 bytes, as Live Activities have them, in hexadecimal digits.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "80" + String(repeating: "0", count: 158 - digits.count) + digits
    }
}
