/// Versions that can be put in order.
package enum AppVersion {
    /// Most digits of one number without leading zeros, so that it fits a bigint.
    package static let digitCount = 18

    /// The numbers of `1.20.3`, without trailing zeros, so that `1.0` is `1`; nil for anything but dotted numbers.
    package static func parts(_ version: String) -> [Int64]? {
        var parts: [Int64] = []
        for digits in version.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            let zero = UInt8(ascii: "0")
            let significant = digits.drop { $0 == zero }
            guard !digits.isEmpty, significant.count <= digitCount,
                significant.allSatisfy({ (zero...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            parts.append(significant.reduce(0) { $0 * 10 + Int64($1 - zero) })
        }
        while parts.last == 0 { parts.removeLast() }
        return parts
    }
}
