/// Hands each batch to the sender of its service.
package struct PushSenders: PushSender {
    private let apns: any PushSender
    private let fcm: any PushSender
    private let broadcast: any PushSender

    /// Puts the senders of one event loop together.
    package init(apns: any PushSender, fcm: any PushSender, broadcast: any PushSender) {
        self.apns = apns
        self.fcm = fcm
        self.broadcast = broadcast
    }

    package func send(_ batch: PushBatch) async -> [PushOutcome] {
        switch batch.service {
        case .apnsProduction, .apnsSandbox: await apns.send(batch)
        case .fcm, .fcmToAPNs: await fcm.send(batch)
        case .broadcastProduction, .broadcastSandbox: await broadcast.send(batch)
        }
    }
}
