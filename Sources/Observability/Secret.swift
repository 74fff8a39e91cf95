/// A value that must not be printed: passwords, keys, tokens. It shows as `<secret>` in text, in a debugger's dump and in a mirror.
package struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The value itself, for the one place that needs it.
    package let exposed: Value

    /// Hides `value`.
    package init(_ value: Value) { exposed = value }

    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }
    /// Has no children; without it `dump` would show the stored property.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value: Equatable {}
