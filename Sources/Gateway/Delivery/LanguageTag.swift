/// Language tags (BCP 47) as they are compared.
enum LanguageTag {
    static let separator = UInt8(ascii: "-")

    /// Its bytes in lower case, with `-` between subtags where apps and devices wrote `_`.
    static func comparable(_ tag: String) -> [UInt8] {
        tag.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "_"): separator
            default: byte
            }
        }
    }
}
