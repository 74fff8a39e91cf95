import Gateway
import HTTP

/// Totals of a notification as they change.
struct EventRoutes: Sendable {
    let reader: any NotificationReader
    let directory: any PrincipalDirectory
    let hub: EventHub

    /// A stream that ends with the fan-out.
    func events(
        _ request: HTTPRequest, notification: String, application: Application, keyDigest: [UInt8]
    ) async throws(Refusal) -> HTTPResponse {
        var checks = try QueryChecks(request)
        try checks.finish()
        guard let identifier = UUID(notification) else { throw .unknownNotification }
        let summary = try await Refusal.catching { () async throws(StorageError) in
            try await reader.notification(identifier, application: application.id)
        }
        guard let summary else { throw .unknownNotification }
        let lastEventID = request.headers["last-event-id"]
        let isFinished = summary.state == .finished
        let event = ServerSentEvent(totals: summary)
        // The one answer that makes a browser stop coming back: only for who has these totals, since a device that joins late opens the
        // fan-out once more, and taps go on.
        if isFinished, lastEventID == event.id { return HTTPResponse(status: 204) }
        let news = event.id == lastEventID ? [] : event.bytes
        let headers: HTTPHeaders = [
            "content-type": "text/event-stream", "cache-control": "no-store",
            // nginx would collect events otherwise.
            "x-accel-buffering": "no",
        ]
        var response = HTTPResponse(status: 200, headers: headers, body: ServerSentEvent.reconnect + news)
        if !isFinished {
            response.stream = try await stream(identifier, application: application, keyDigest: keyDigest, lastEventID: event.id)
        }
        return response
    }

    private func stream(
        _ notification: UUID, application: Application, keyDigest: [UInt8], lastEventID: String
    ) async throws(Refusal) -> HTTPBodyStream {
        let subscription = EventHub.Subscription(
            notification: notification, application: application.id, keyDigest: keyDigest, lastEventID: lastEventID,
            reader: reader, directory: directory)
        do throws(EventHub.SubscriptionFailure) {
            return try await hub.subscribe(subscription)
        } catch {
            throw switch error {
            case .tooManyOfApplication: .tooManyStreamsOfApplication(retryAfterSeconds: EventLimits.retrySeconds)
            case .tooMany: .tooManyStreams(retryAfterSeconds: EventLimits.retrySeconds)
            }
        }
    }
}
