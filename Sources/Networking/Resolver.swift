import CLinux
import Glibc
import Synchronization

/// A host name that could not be turned into addresses.
package struct ResolveError: Error, Equatable, Sendable, CustomStringConvertible {
    package let host: String
    /// The system's words, such as "Name or service not known".
    package let reason: String
    /// Whether trying again later may help.
    package let isTemporary: Bool

    package var description: String { "resolve \(host): \(reason)" }
}

/// Turns host names into addresses by the system's resolver, whose call blocks: it runs on threads of its own, never on a loop.
package enum Resolver {
    /// Look-ups that run at the same time, at most: one thread each.
    package static let concurrentLookUpLimit = 4
    /// Look-ups that wait for a thread, at most; more are refused with a temporary error.
    package static let waitingLookUpLimit = 1_024

    /// All addresses of a host, in the order the system prefers (RFC 6724); at least one.
    ///
    /// A literal address is taken as it is. Without an answer the system gives up by its own rules (`resolv.conf`; 10 s by default for
    /// each name server): the owner sets its own deadline by cancelling, which ends the wait at once with a temporary error.
    package static func resolve(host: String, port: UInt16) async throws(ResolveError) -> [SocketAddress] {
        if let address = SocketAddress(literal: host, port: port) { return [address] }
        let lookUp = LookUp(host: host, port: port)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                lookUp.wait(with: continuation)
                queue.add(lookUp)
            }
        } onCancel: {
            lookUp.finish(.failure(ResolveError(host: host, reason: "cancelled", isTemporary: true)))
        }
        return try result.get()
    }

    private static let queue = LookUpQueue()
}

/// One call of `resolve`: answered once, by whoever comes first.
private final class LookUp: Sendable {
    typealias Answer = Result<[SocketAddress], ResolveError>

    private enum State {
        case new
        case waiting(CheckedContinuation<Answer, Never>)
        case finished(Answer)
    }

    let host: String
    let port: UInt16
    private let state = Mutex(State.new)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    var isFinished: Bool {
        state.withLock { if case .finished = $0 { true } else { false } }
    }

    func wait(with continuation: CheckedContinuation<Answer, Never>) {
        let answer: Answer? = state.withLock { state in
            if case .finished(let answer) = state { return answer }
            state = .waiting(continuation)
            return nil
        }
        if let answer { continuation.resume(returning: answer) }
    }

    func finish(_ answer: Answer) {
        let continuation: CheckedContinuation<Answer, Never>? = state.withLock { state in
            switch state {
            case .finished: return nil
            case .new:
                state = .finished(answer)
                return nil
            case .waiting(let continuation):
                state = .finished(answer)
                return continuation
            }
        }
        continuation?.resume(returning: answer)
    }

    /// Asks the system; blocks.
    func run() {
        guard !isFinished else { return }
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(host, nil, &hints, &list)
        defer { if let first = unsafe list { unsafe freeaddrinfo(first) } }
        guard result == 0 else {
            let text =
                result == EAI_SYSTEM ? SystemError.last("getaddrinfo").description : unsafe String(cString: gai_strerror(result))
            let isTemporary = result == EAI_AGAIN || result == EAI_SYSTEM || result == EAI_MEMORY
            return finish(.failure(ResolveError(host: host, reason: text, isTemporary: isTemporary)))
        }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let system = unsafe entry.pointee.ai_addr, let address = unsafe SocketAddress(system: system) {
                addresses.append(address.withPort(port))
            }
            unsafe next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            return finish(.failure(ResolveError(host: host, reason: "no address", isTemporary: false)))
        }
        finish(.success(addresses))
    }
}

/// Look-ups that wait, and the threads that run them: a thread starts when needed and ends when nothing waits.
private final class LookUpQueue: Sendable {
    private struct State {
        var waiting: [LookUp] = []
        var threadCount = 0
    }

    private enum Decision {
        case refuse
        case wait
        case startThread
    }

    private let state = Mutex(State())

    func add(_ lookUp: LookUp) {
        let decision: Decision = state.withLock { state in
            guard state.waiting.count < Resolver.waitingLookUpLimit else { return .refuse }
            state.waiting.append(lookUp)
            guard state.threadCount < Resolver.concurrentLookUpLimit else { return .wait }
            state.threadCount += 1
            return .startThread
        }
        switch decision {
        case .wait: break
        case .refuse: refuse(lookUp, reason: "too many look-ups wait")
        case .startThread: startThread(for: lookUp)
        }
    }

    private func startThread(for lookUp: LookUp) {
        do {
            SystemThread.detach(try SystemThread.start(name: "resolver") { self.run() })
        } catch {
            state.withLock { state in
                state.threadCount -= 1
                state.waiting.removeAll { $0 === lookUp }
            }
            refuse(lookUp, reason: "\(error)")
        }
    }

    private func refuse(_ lookUp: LookUp, reason: String) {
        lookUp.finish(.failure(ResolveError(host: lookUp.host, reason: reason, isTemporary: true)))
    }

    private func run() {
        while let lookUp = next() { lookUp.run() }
    }

    private func next() -> LookUp? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.threadCount -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
