import Gateway
import JSON
import Networking

/// A simulator of APNs with its broadcast channels, and the requests that steer it.
struct ChannelSink {
    /// What a channel got.
    struct Figures {
        let messageCount: Int64
        /// Messages times the devices that were on the channel.
        let deliveryCount: Int64
    }

    let sink: Sink
    private let channelsAddress: String
    private let controlPort: UInt16
    private let loop: EventLoop

    /// Settings of a daemon that manages its channels there.
    var environment: [String: String] { ["OPENPUSH_APNS_CHANNELS_PRODUCTION_URL": "https://\(channelsAddress)"] }

    /// - Parameter publicKeyPath: of what the pushes are signed with, PEM.
    static func start(in workplace: Workplace, publicKeyPath: String) async throws -> ChannelSink {
        let rootsPath = workplace.path("apns-ca.pem")
        let key = SinkMaker.providerKey
        let process = try await workplace.start(
            [
                try workplace.program("apns-simulator"), "--ca-file", rootsPath, "--no-record", "--public-key",
                "\(key.teamID):\(key.keyID):\(publicKeyPath)",
            ], log: "sink", readyWhen: "production=")
        let addresses = process.readyLine.split(separator: " ").reduce(into: [String: String]()) { addresses, word in
            let parts = word.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { addresses[String(parts[0])] = String(parts[1]) }
        }
        func port(_ name: String) -> UInt16? { addresses[name]?.split(separator: ":").last.flatMap { UInt16($0) } }
        guard let production = port("production"), let channels = addresses["channels"], let control = port("control") else {
            throw Failure("apns-simulator named no addresses: \(process.readyLine)")
        }
        return ChannelSink(
            sink: Sink(port: Int(production), rootsPath: rootsPath, process: process), channelsAddress: channels,
            controlPort: control, loop: workplace.loop)
    }

    /// Puts so many devices on a channel.
    func subscribe(_ count: Int, to channelID: String) async throws {
        let answer = try await ask("POST", "/subscriptions", #"{"channel_id":"\#(channelID)","count":\#(count)}"#)
        guard answer.status == 200 else { throw Failure("the simulator did not subscribe devices: \(answer.text)") }
    }

    /// What a channel got so far.
    func figures(of channelID: String) async throws -> Figures {
        let answer = try await ask("GET", "/channels")
        let channels = answer.json?["channels"]?.elements ?? []
        guard let channel = channels.first(where: { $0["channel_id"]?.string == channelID }),
            let messages = channel["message_count"]?.integer, let deliveries = channel["deliveries"]?.integer
        else { throw Failure("the simulator does not know the channel: \(answer.status)") }
        return Figures(messageCount: messages, deliveryCount: deliveries)
    }

    private func ask(_ method: String, _ path: String, _ body: String = "") async throws -> GatewayClient.Answer {
        try await GatewayClient.send(method, path, body: Array(body.utf8), port: controlPort, key: "none", loop: loop)
    }
}
