import CLinux

/// What a descriptor is ready for, or what its watcher wants to know.
package struct Readiness: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// There are bytes, a connection to accept, or the end of the stream.
    package static let readable = Readiness(rawValue: 1)
    /// There is room to send, or a connect has finished.
    package static let writable = Readiness(rawValue: 2)
    /// The connection failed or both directions are shut. Reported even when nothing was asked for.
    package static let closed = Readiness(rawValue: 4)

    /// What epoll reported.
    init(epollEvents: UInt32) {
        var readiness: Readiness = []
        if epollEvents & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if epollEvents & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if epollEvents & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { readiness.insert(.closed) }
        self = readiness
    }

    /// What to ask epoll for; `closed` comes unasked.
    var epollEvents: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
    }
}

/// Whoever watches a descriptor on a loop; usually an actor pinned to that loop, whose `ready` assumes its isolation.
package protocol ReadinessHandler: AnyObject, Sendable {
    /// Called on the loop's thread, again and again for as long as the condition holds (level-triggered).
    func ready(_ readiness: Readiness)
}
