/// The version that the programs tell.
package enum ProgramVersion {
    /// As semantic versioning counts; the schema has a number of its own.
    package static let text = "0.7.0"
}
