/// Percent-encoding of RFC 3986, 2.1.
package enum PercentEncoding {
    /// Decodes `%XX` sequences; nil when one is cut short or not hexadecimal, or when the result is not UTF-8 or holds NUL.
    ///
    /// `plusIsSpace` is for the values of a query (`application/x-www-form-urlencoded`), never for a path.
    package static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") || $0 == 0 }) else {
            return String(text)
        }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.utf8.count)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(HTTPCharacters.hexadecimalValue),
                    let low = bytes.next().flatMap(HTTPCharacters.hexadecimalValue)
                else { return nil }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(UInt8(ascii: " "))
            default: decoded.append(byte)
            }
        }
        guard !decoded.contains(0) else { return nil }
        return String(validating: decoded, as: UTF8.self)
    }
}
