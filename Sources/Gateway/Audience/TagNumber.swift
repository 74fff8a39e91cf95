/// What `>` and `<` of a tag take for a number.
package enum TagNumber {
    /// The grammar as a regular expression of PostgreSQL: a number as text, small enough that every cast succeeds.
    package static let pattern = #"^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$"#

    /// Whether a text is one, by the same grammar.
    package static func matches(_ text: String) -> Bool {
        text.wholeMatch(of: #/[+\-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+\-]?[0-9]{1,2})?/#) != nil
    }
}
