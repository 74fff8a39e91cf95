import Synchronization

/// Servers that share their listeners, one a loop: a connection goes to the one that has the fewest.
///
/// The system wakes whichever loop it likes, mostly the same one; phones that come together would all be on its core.
package final class HTTPServerGroup: Sendable {
    private struct Member {
        let server: HTTPServer
        var connectionCount = 0
    }

    /// Those that take connections.
    private let members = Mutex<[Member]>([])

    /// Without servers; each comes when it starts, and goes when it stops accepting.
    package init() {}

    func add(_ server: HTTPServer) { members.withLock { $0.append(Member(server: server)) } }

    func remove(_ server: HTTPServer) { members.withLock { $0.removeAll { $0.server === server } } }

    /// The server that is to have one more connection, which is counted; nil when none takes any.
    func place() -> HTTPServer? {
        members.withLock { members in
            guard let index = members.indices.min(by: { members[$0].connectionCount < members[$1].connectionCount }) else {
                return nil
            }
            members[index].connectionCount += 1
            return members[index].server
        }
    }

    /// A connection of the server has ended.
    func left(_ server: HTTPServer) {
        members.withLock { members in
            guard let index = members.firstIndex(where: { $0.server === server }) else { return }
            members[index].connectionCount -= 1
        }
    }
}
