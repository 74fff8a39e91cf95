import Synchronization

/// Bytes of request bodies that the connections of one server hold, from the first byte to the end of the handler.
///
/// The limits of one connection, times the number of connections, would be more than a machine has.
final class RequestMemory: Sendable {
    private let byteCount = Atomic<Int>(0)
    private let limit: Int

    init(byteCount limit: Int) { self.limit = limit }

    /// Counts `change` bytes, which may be negative; false when the limit is exceeded.
    func add(_ change: Int) -> Bool {
        byteCount.add(change, ordering: .relaxed).newValue <= limit
    }
}
