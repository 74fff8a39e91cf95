import Synchronization

/// All metrics of the process, and their text for Prometheus.
///
/// Look an instrument up once and keep it: looking up takes a lock, counting does not. Asking twice for one name and the same labels gives
/// the same instrument. A name belongs to one kind of instrument; using it for another stops the process.
package final class Metrics: Sendable {
    /// Most combinations of label values under one name; further ones are counted together as `other`. Keeps a label that somebody
    /// fills with ids from using up the memory.
    static let seriesCount = 1_000

    private let families = Mutex<[String: MetricFamily]>([:])

    /// Without metrics.
    package init() {}

    /// The counter of that name and labels; by custom its name ends in `_total`. `help` of the first call counts.
    package func counter(_ name: String, help: String = "", labels: [String: String] = [:]) -> Counter {
        guard case .counter(let counter) = instrument(name, help, .counter, labels, { .counter(Counter()) }) else {
            preconditionFailure("\(name) is not a counter")
        }
        return counter
    }

    /// The gauge of that name and labels.
    package func gauge(_ name: String, help: String = "", labels: [String: String] = [:]) -> Gauge {
        guard case .gauge(let gauge) = instrument(name, help, .gauge, labels, { .gauge(Gauge()) }) else {
            preconditionFailure("\(name) is not a gauge that is set")
        }
        return gauge
    }

    /// A gauge whose number is asked for when the text is made. `read` must not block; the first one given for a name and labels stays.
    package func gauge(_ name: String, help: String = "", labels: [String: String] = [:], read: @escaping @Sendable () -> Int) {
        _ = instrument(name, help, .gauge, labels) { .readGauge(read) }
    }

    /// The histogram of that name and labels. `bucketBounds` rise and are finite; those of the first call count.
    package func histogram(
        _ name: String, help: String = "", labels: [String: String] = [:], bucketBounds: [Double] = Histogram.secondsBounds
    ) -> Histogram {
        let instrument = instrument(name, help, .histogram, labels) { .histogram(Histogram(bounds: bucketBounds)) }
        guard case .histogram(let histogram) = instrument else { preconditionFailure("\(name) is not a histogram") }
        return histogram
    }

    /// Everything in Prometheus' text format 0.0.4 (`text/plain; version=0.0.4; charset=utf-8`), sorted by name and labels.
    package func prometheusText() -> [UInt8] {
        let families = families.withLock { $0 }
        var text = PrometheusText()
        for (name, family) in families.sorted(by: { $0.key < $1.key }) { text.append(family, name: name) }
        return Array(text.text.utf8)
    }

    private func instrument(
        _ name: String, _ help: String, _ kind: MetricFamily.Kind, _ labels: [String: String],
        _ make: () -> MetricFamily.Instrument
    ) -> MetricFamily.Instrument {
        precondition(PrometheusText.isName(name), "\(name) is no metric name")
        precondition(labels.keys.allSatisfy(PrometheusText.isLabelName), "a label of \(name) has no valid name")
        return families.withLock { families in
            families[name, default: MetricFamily(kind: kind, help: help)].instrument(name, kind, labels, make)
        }
    }
}

/// The metrics of one name.
struct MetricFamily {
    enum Kind: String { case counter, gauge, histogram }

    enum Instrument {
        case counter(Counter)
        case gauge(Gauge)
        case readGauge(@Sendable () -> Int)
        case histogram(Histogram)
    }

    let kind: Kind
    let help: String
    /// By labels, as they stand between the braces.
    private(set) var series: [String: Instrument] = [:]

    init(kind: Kind, help: String) {
        self.kind = kind
        self.help = help
    }

    mutating func instrument(_ name: String, _ kind: Kind, _ labels: [String: String], _ make: () -> Instrument) -> Instrument {
        precondition(kind == self.kind, "\(name) is a \(self.kind.rawValue)")
        var key = PrometheusText.labels(labels)
        if let known = series[key] { return known }
        if series.count >= Metrics.seriesCount {
            key = PrometheusText.labels(labels.mapValues { _ in "other" })
            if let known = series[key] { return known }
        }
        let made = make()
        series[key] = made
        return made
    }
}
