import CLinux
import Glibc

/// One epoll instance, and the handlers of the descriptors it watches.
///
/// An event carries the descriptor and the generation of its watch. An event that was fetched before its descriptor was unwatched
/// finds another generation, or none, and is dropped; it never reaches a new descriptor that got the same number.
@safe final class Poller {
    /// Most events fetched by one call; more stay in the kernel for the next turn.
    static let eventsPerTurn = 256

    private struct Watch {
        let generation: UInt32
        let isShared: Bool
        var interest: Readiness
        let handler: any ReadinessHandler
    }

    private let epoll: FileDescriptor
    private let events: UnsafeMutableBufferPointer<epoll_event>
    /// Indexed by descriptor: the system hands out the lowest free number, so the array stays as small as the process' peak.
    private var watches: [Watch?] = []
    private var nextGeneration: UInt32 = 1

    init() throws(SystemError) {
        epoll = FileDescriptor(owning: try SystemError.check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC))))
        unsafe events = .allocate(capacity: Poller.eventsPerTurn)
        unsafe events.initialize(repeating: epoll_event())
    }

    deinit {
        unsafe events.deallocate()
    }

    /// Adds the descriptor other threads wake the loop by. It is edge-triggered: every write is one event and nobody need read it.
    func addWakeUp(_ descriptor: Int32) throws(SystemError) {
        var event = unsafe epoll_event()
        unsafe event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        unsafe event.data.u64 = 0
        try unsafe SystemError.check("epoll_ctl", epoll_ctl(epoll.rawValue, EPOLL_CTL_ADD, descriptor, &event))
    }

    func watch(_ descriptor: Int32, for interest: Readiness, shared: Bool, handler: any ReadinessHandler) throws(SystemError) {
        precondition(descriptor >= 0, "not a descriptor")
        let generation = nextGeneration
        // Wrapping is harmless: a stale event lives for one turn, and no turn makes 2^32 watches. 0 is the wake-up.
        nextGeneration = nextGeneration == .max ? 1 : nextGeneration + 1
        let watch = Watch(generation: generation, isShared: shared, interest: interest, handler: handler)
        try control(EPOLL_CTL_ADD, descriptor, watch)
        while watches.count <= Int(descriptor) { watches.append(nil) }
        watches[Int(descriptor)] = watch
    }

    func change(_ descriptor: Int32, to interest: Readiness) throws(SystemError) {
        guard var watch = watch(of: descriptor) else { preconditionFailure("descriptor \(descriptor) is not watched") }
        let before = watch.interest
        guard before != interest else { return }
        watch.interest = interest
        if watch.isShared {
            // An exclusive watch cannot be modified, and without interest it would still be woken for errors.
            if !before.isEmpty { try control(EPOLL_CTL_DEL, descriptor, watch) }
            if !interest.isEmpty { try control(EPOLL_CTL_ADD, descriptor, watch) }
        } else {
            try control(EPOLL_CTL_MOD, descriptor, watch)
        }
        watches[Int(descriptor)] = watch
    }

    func unwatch(_ descriptor: Int32) {
        guard let watch = watch(of: descriptor) else { return }
        watches[Int(descriptor)] = nil
        // Fails when the descriptor was closed first, or is shared and paused: then there is nothing to remove.
        try? control(EPOLL_CTL_DEL, descriptor, watch)
    }

    /// Whether a handler is held.
    var isWatching: Bool { watches.contains { $0 != nil } }

    /// Releases every handler; their descriptors stay open.
    func removeAll() {
        watches.removeAll()
    }

    /// Waits at most `timeout` milliseconds (-1: without limit) and returns how many events there are.
    func wait(milliseconds timeout: Int32) -> Int {
        let count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, Int32(Poller.eventsPerTurn), timeout)
        guard count < 0 else { return Int(count) }
        precondition(errno == EINTR, "epoll_wait failed")
        return 0
    }

    /// Hands event `index` of the last wait to its handler, if that still watches.
    func dispatch(_ index: Int) {
        let event = unsafe events[index]
        let key = unsafe event.data.u64
        let descriptor = Int32(truncatingIfNeeded: key)
        guard let watch = watch(of: descriptor), watch.generation == UInt32(key >> 32) else { return }
        let readiness = unsafe Readiness(epollEvents: event.events)
        watch.handler.ready(readiness)
    }

    private func watch(of descriptor: Int32) -> Watch? {
        watches.indices.contains(Int(descriptor)) ? watches[Int(descriptor)] : nil
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ watch: Watch) throws(SystemError) {
        var event = unsafe epoll_event()
        unsafe event.events = watch.interest.epollEvents | (watch.isShared ? EPOLLEXCLUSIVE.rawValue : 0)
        unsafe event.data.u64 = UInt64(watch.generation) << 32 | UInt64(UInt32(descriptor))
        try unsafe SystemError.check("epoll_ctl", epoll_ctl(epoll.rawValue, operation, descriptor, &event))
    }
}
