import Foundation

/// The sanitizer the tests run under, if any: `deploy/test --sanitize` sets its options.
package enum Sanitizer {
    /// The options, to be handed on to programs that are started with an environment of their own.
    package static let options = ProcessInfo.processInfo.environment.filter { name, _ in
        ["TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"].contains(name)
    }

    /// Descriptors its runtime may open by itself, for the program that tells it names of functions.
    package static var descriptorCount: Int { isActive ? 8 : 0 }

    /// Whether memory that was let go is kept for a while, and everything takes several times as long.
    package static var isActive: Bool { !options.isEmpty }
}
