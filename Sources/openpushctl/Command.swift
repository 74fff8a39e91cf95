/// One command: its words, and what it does.
struct Command {
    /// What is typed first.
    let words: [String]
    /// The option that names what the command works on, which may also be given as a word behind the others; nil where there is none.
    let subject: String?
    private let body: (consuming CommandArguments) async throws -> Report

    private init(
        _ words: String, subject: String? = nil, _ body: @escaping (consuming CommandArguments) async throws -> Report
    ) {
        self.words = words.split(separator: " ").map(String.init)
        self.subject = subject
        self.body = body
    }

    private static var all: [Command] {
        [
            Command("schema apply", Commands.applySchema), Command("app create", Commands.createApplication),
            Command("app list", Commands.listApplications), Command("app set", subject: "app", Commands.setApplication),
            Command("key create", Commands.createKey), Command("key list", Commands.listKeys),
            Command("key revoke", subject: "key-id", Commands.revokeKey),
            Command("segment create", Commands.createSegment), Command("campaign create", Commands.createCampaign),
            Command("campaign list", Commands.listCampaigns),
            Command("campaign remove", subject: "campaign", Commands.removeCampaign),
            Command("notification resend-unknown", subject: "notification", Commands.resendUnknown),
            Command("doctor", subject: "app", Doctor.run),
        ]
    }

    /// Runs the command that was typed.
    static func run(_ arguments: consuming CommandArguments) async throws -> Report {
        for command in all where arguments.words.starts(with: command.words) {
            let rest = arguments.words.dropFirst(command.words.count)
            if let surplus = rest.dropFirst(command.subject == nil ? 0 : 1).first {
                throw CommandArguments.Mistake(
                    description: "'\(surplus)' is one word too many behind '\(command.words.joined(separator: " "))'")
            }
            if let subject = command.subject, let word = rest.first { try arguments.add(subject, word) }
            return try await command.body(arguments)
        }
        let typed = arguments.words.joined(separator: " ")
        let near = all.filter { $0.words.first == arguments.words.first }.map { $0.words.joined(separator: " ") }
        let list = near.isEmpty ? "" : "; there are: \(near.joined(separator: ", "))"
        throw CommandArguments.Mistake(description: "there is no command '\(typed)'\(list)")
    }
}
