import Gateway
import Networking
import Store

/// What the requests of one loop ask the database together.
struct BatchedServices: Sendable {
    let principals: BatchedPrincipals
    let registry: BatchedRegistry
    let taps: BatchedTaps

    init(store: Store, loop: EventLoop) {
        let sleep: @Sendable (Duration) async -> Void = { await loop.sleep(for: $0) }
        principals = BatchedPrincipals(
            base: store,
            batcher: RequestBatcher(executor: loop, limits: .principals, sleep: sleep) {
                (digests) async throws(StorageError) in try await store.principals(forKeyDigests: digests)
            })
        registry = BatchedRegistry(
            base: store,
            batcher: RequestBatcher(executor: loop, limits: .startTokens, sleep: sleep) {
                (registrations) async throws(StorageError) in try await store.setStartTokens(registrations)
            })
        taps = BatchedTaps(
            RequestBatcher(executor: loop, limits: .taps, sleep: sleep) {
                (taps) async throws(StorageError) in try await store.count(taps)
            })
    }
}
