import Gateway
import Synchronization

/// Whether the certificates of Apple's services could be verified when they were last seen. One for all pools of a process.
///
/// Pushes wait while one cannot: what helps is another file of roots, or the right address, and only the operator can change these.
package final class APNsTrust: Sendable {
    /// One bit an environment.
    private let rejected = Atomic<UInt8>(0)

    /// Nothing was rejected.
    package init() {}

    /// False while the last certificate of some service was rejected and nothing has come from it since.
    package var isComplete: Bool { rejected.load(ordering: .relaxed) == 0 }

    /// A connection was opened, or an answer came.
    func verified(_ environment: PushEnvironment) {
        guard rejected.load(ordering: .relaxed) != 0 else { return }
        rejected.bitwiseAnd(~Self.bit(environment), ordering: .relaxed)
    }

    func rejected(_ environment: PushEnvironment) { rejected.bitwiseOr(Self.bit(environment), ordering: .relaxed) }

    /// Other roots are in use: what they make of the certificates shows with the next connections.
    func rootsReplaced() { rejected.store(0, ordering: .relaxed) }

    private static func bit(_ environment: PushEnvironment) -> UInt8 { 1 << UInt8(environment.rawValue) }
}
