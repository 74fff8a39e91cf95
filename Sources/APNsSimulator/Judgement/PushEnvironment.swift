/// Which of Apple's two worlds: their tokens have nothing in common.
package enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    case production
    case sandbox
}
