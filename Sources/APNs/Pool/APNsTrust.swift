import Gateway
import Synchronization

/// Whether the certificates of Apple's services could be verified when they were last seen. One for all pools of a process.
///
/// Pushes wait while one cannot: what helps is another file of roots, or the right address, and only the operator can change these.
package final class APNsTrust: Sendable {
    private let rejected = Mutex<Set<PushEnvironment>>([])

    /// Nothing was rejected.
    package init() {}

    /// False while the last certificate of some service was rejected.
    package var isComplete: Bool { rejected.withLock(\.isEmpty) }

    func verified(_ environment: PushEnvironment) { rejected.withLock { _ = $0.remove(environment) } }

    func rejected(_ environment: PushEnvironment) { rejected.withLock { _ = $0.insert(environment) } }

    /// Other roots are in use: what they make of the certificates shows with the next connections.
    func rootsReplaced() { rejected.withLock { $0.removeAll() } }
}
