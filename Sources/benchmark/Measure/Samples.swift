import JSON

/// What a figure was in each repetition.
struct Samples {
    private var values: [Double]

    init(_ values: [Double] = []) { self.values = values.sorted() }

    mutating func add(_ value: Double) {
        values.append(value)
        values.sort()
    }

    var isEmpty: Bool { values.isEmpty }
    var least: Double? { values.first }
    var most: Double? { values.last }

    /// The middle one, or the mean of the two in the middle; nil when nothing was measured.
    var median: Double? {
        guard !values.isEmpty else { return nil }
        let middle = values.count / 2
        return values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2
    }
}

extension JSONWriter {
    /// Writes a member that holds a number with so many digits behind the point; null for nil.
    mutating func member(_ name: String, _ value: Double?, digits: Int) {
        key(name)
        number(value, digits: digits)
    }

    /// Writes a number with so many digits behind the point; null for nil.
    mutating func number(_ value: Double?, digits: Int) {
        guard let value, value.isFinite else { return null() }
        raw(Self.decimal(value, digits: digits).utf8)
    }

    /// Writes a member that holds median, least and most; null when nothing was measured.
    mutating func member(_ name: String, _ samples: Samples, digits: Int) {
        key(name)
        guard !samples.isEmpty else { return null() }
        beginObject()
        member("median", samples.median, digits: digits)
        member("least", samples.least, digits: digits)
        member("most", samples.most, digits: digits)
        endObject()
    }

    private static func decimal(_ value: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
        let units = Int((abs(value) * Double(scale)).rounded())
        let whole = "\(value < 0 && units > 0 ? "-" : "")\(units / scale)"
        guard digits > 0 else { return whole }
        let fraction = String(units % scale)
        return "\(whole).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
    }
}
