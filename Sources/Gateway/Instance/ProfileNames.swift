/// What else a user is called by, as an SDK tells it: traits of a profile that name it.
package struct ProfileNames: Hashable, Sendable {
    /// The alias labels that are kept, as `identify` has them among its traits.
    package static let labels: [ExactText] = ["email", "phone"]

    /// The user's `external_id`.
    package let user: String
    /// Label to identifier; nil as identifier removes the name.
    package let names: [ExactText: String?]

    /// Puts both together.
    package init(user: String, names: [ExactText: String?]) {
        self.user = user
        self.names = names
    }
}
