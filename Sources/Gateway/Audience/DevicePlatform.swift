/// A device's system.
package enum DevicePlatform: Int16, CaseIterable, Hashable, Sendable {
    case ios = 0
    case android = 1

    /// The name in requests and answers: `ios` or `android`.
    package var name: String { self == .ios ? "ios" : "android" }
    /// Reads `ios` or `android`; nil for anything else.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
