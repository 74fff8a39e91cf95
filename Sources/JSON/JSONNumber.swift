/// Exact conversion of number literals.
enum JSONNumber {
    /// Exponents beyond this are as good as infinite: no literal has so many digits.
    private static let exponentLimit = 10_000_000_000

    /// The integer a literal of the JSON grammar stands for; nil when it has a fraction or does not fit 64 bits.
    static func integer(_ literal: ArraySlice<UInt8>) -> Int64? {
        let isNegative = literal.first == UInt8(ascii: "-")
        var digits: [UInt8] = []
        var exponent = 0
        var position = isNegative ? literal.startIndex + 1 : literal.startIndex
        var isFraction = false
        while position < literal.endIndex, literal[position] | 0x20 != UInt8(ascii: "e") {
            if literal[position] == UInt8(ascii: ".") {
                isFraction = true
            } else {
                if !digits.isEmpty || literal[position] != UInt8(ascii: "0") {
                    digits.append(literal[position] - UInt8(ascii: "0"))
                }
                if isFraction { exponent -= 1 }
            }
            position += 1
        }
        if position < literal.endIndex { exponent += decimalExponent(literal[(position + 1)...]) }
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        guard !digits.isEmpty else { return 0 }
        // Nineteen digits hold every Int64; the multiplications below catch what exceeds it.
        guard exponent >= 0, digits.count + exponent <= 19 else { return nil }
        digits.append(contentsOf: repeatElement(0, count: exponent))
        var value: Int64 = 0
        for digit in digits {
            let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
            let (next, nextOverflows) = product.subtractingReportingOverflow(Int64(digit))
            guard !productOverflows, !nextOverflows else { return nil }
            value = next
        }
        guard !isNegative else { return value }
        return value == .min ? nil : -value
    }

    private static func decimalExponent(_ text: ArraySlice<UInt8>) -> Int {
        var value = 0
        for byte in text where byte != UInt8(ascii: "+") && byte != UInt8(ascii: "-") {
            value = min(value * 10 + Int(byte - UInt8(ascii: "0")), exponentLimit)
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }
}
