import Gateway
import Store

/// The commands that work on a notification.
extension Commands {
    /// Sends the pushes of a notification again that left without an answer.
    static func resendUnknown(_ arguments: consuming CommandArguments) async throws -> Report {
        let id = try arguments.take("notification", expected: "the id of a notification (UUID)") { UUID($0) }
        try arguments.finish()
        return try await Session.run { session in
            let outcome = try await session.store.resendUnknown(of: id)
            guard case .queued(let count) = outcome else { throw refusal(outcome, of: id) }
            return Report(
                members: [("notification_id", .text("\(id)")), ("devices", .number(count))],
                lines: ["Notification \(id) is sent again to \(count) devices whose push had no answer."])
        }
    }

    private static func refusal(_ outcome: ResendOutcome, of id: UUID) -> CommandFailure {
        switch outcome {
        case .notFound:
            .data("there is no notification \(id); an app's key may read the list at GET /v1/notifications")
        case .unfinished:
            .negative("Notification \(id) has not finished; what is unknown of it can be sent again once it has.")
        case .expired:
            .negative("Notification \(id) has expired: its state is too old to be shown. Send a new one.")
        case .overtaken:
            .negative("A newer state or the end took the place of notification \(id); nothing of it is sent any more.")
        case .nothingUnknown, .queued:
            .negative("No device of notification \(id) is recorded as unknown; there is nothing to send again.")
        }
    }
}
