/// A control request that cannot be obeyed, with a sentence that says why.
package struct ControlError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
