import Synchronization

/// Values in the order they were added; a test can wait for one.
final class Record<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiters: [(matches: @Sendable (Element) -> Bool, continuation: CheckedContinuation<Element, Never>)] = []
    }

    private let state = Mutex(State())

    var all: [Element] { state.withLock { $0.elements } }

    func append(_ element: Element) {
        let woken = state.withLock { (state) -> [CheckedContinuation<Element, Never>] in
            state.elements.append(element)
            let woken = state.waiters.filter { $0.matches(element) }.map(\.continuation)
            state.waiters.removeAll { $0.matches(element) }
            return woken
        }
        for continuation in woken { continuation.resume(returning: element) }
    }

    /// The first element that matches, as soon as there is one. The time limit of the test bounds the wait.
    @discardableResult
    func first(where matches: @escaping @Sendable (Element) -> Bool) async -> Element {
        await withCheckedContinuation { continuation in
            let found = state.withLock { (state) -> Element? in
                if let element = state.elements.first(where: matches) { return element }
                state.waiters.append((matches, continuation))
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }
}
