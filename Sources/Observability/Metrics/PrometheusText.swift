/// Prometheus' text format 0.0.4. Source: prometheus.io/docs/instrumenting/exposition_formats.
struct PrometheusText {
    private(set) var text = ""

    mutating func append(_ family: MetricFamily, name: String) {
        if !family.help.isEmpty {
            text += "# HELP \(name) \(Self.escaped(family.help, quotes: false))\n"
        }
        text += "# TYPE \(name) \(family.kind.rawValue)\n"
        for (labels, instrument) in family.series.sorted(by: { $0.key < $1.key }) {
            switch instrument {
            case .counter(let counter): appendSample(name, labels, "\(counter.value)")
            case .gauge(let gauge): appendSample(name, labels, "\(gauge.value)")
            case .readGauge(let read): appendSample(name, labels, "\(read())")
            case .histogram(let histogram): append(histogram, name: name, labels: labels)
            }
        }
    }

    private mutating func append(_ histogram: Histogram, name: String, labels: String) {
        let (cumulative, sum) = histogram.snapshot()
        let bounds = histogram.bounds.map { "\($0)" } + ["+Inf"]
        for (bound, count) in zip(bounds, cumulative) {
            appendSample("\(name)_bucket", (labels.isEmpty ? "" : labels + ",") + "le=\"\(bound)\"", "\(count)")
        }
        let sumText = sum.isInfinite ? (sum > 0 ? "+Inf" : "-Inf") : sum.isNaN ? "NaN" : "\(sum)"
        appendSample("\(name)_sum", labels, sumText)
        appendSample("\(name)_count", labels, "\(cumulative.last ?? 0)")
    }

    private mutating func appendSample(_ name: String, _ labels: String, _ value: String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    /// Labels as they stand between the braces, sorted by name.
    static func labels(_ labels: [String: String]) -> String {
        labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
    }

    /// A backslash and a line end are escaped everywhere, a quote in label values only.
    private static func escaped(_ value: String, quotes: Bool) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: "\\\"".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Letters, digits, `_` and `:`, no digit first.
    static func isName(_ name: String) -> Bool {
        startsWithoutDigit(name) && name.utf8.allSatisfy { isWordCharacter($0) || $0 == UInt8(ascii: ":") }
    }

    /// Letters, digits and `_`, no digit first; two underscores in front are Prometheus' own, and `le` belongs to histograms.
    static func isLabelName(_ name: String) -> Bool {
        startsWithoutDigit(name) && name.utf8.allSatisfy(isWordCharacter) && !name.hasPrefix("__") && name != "le"
    }

    private static func startsWithoutDigit(_ name: String) -> Bool {
        guard let first = name.utf8.first else { return false }
        return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
