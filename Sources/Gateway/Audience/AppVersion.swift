/// Versions that can be put in order.
package enum AppVersion {
    /// Most digits of one number, so that it fits a bigint.
    package static let digitCount = 18

    /// The numbers of `1.20.3`, without trailing zeros, so that `1.0` is `1`; nil for anything but dotted numbers.
    package static func parts(_ version: String) -> [Int64]? {
        var parts: [Int64] = []
        for digits in version.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...digitCount).contains(digits.count),
                digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int64(Substring(digits))
            else { return nil }
            parts.append(number)
        }
        while parts.last == 0 { parts.removeLast() }
        return parts
    }
}
