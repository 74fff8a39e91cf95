import Testing

@testable import Observability

@Suite("Metrics") struct MetricsTests {
    private func text(_ metrics: Metrics) -> String { String(decoding: metrics.prometheusText(), as: UTF8.self) }

    @Test("write counters and gauges sorted by name and labels") func writesSorted() {
        let metrics = Metrics()
        metrics.gauge("b_connections", help: "Open connections.").set(3)
        metrics.counter("a_total", labels: ["status": "410", "host": "x"]).add(2)
        metrics.counter("a_total", labels: ["host": "x", "status": "200"]).add()
        metrics.gauge("c_depth") { 7 }
        #expect(
            text(metrics) == """
                # TYPE a_total counter
                a_total{host="x",status="200"} 1
                a_total{host="x",status="410"} 2
                # HELP b_connections Open connections.
                # TYPE b_connections gauge
                b_connections 3
                # TYPE c_depth gauge
                c_depth 7

                """)
    }

    @Test("write histograms with rising buckets, sum and count") func writesHistogram() {
        let metrics = Metrics()
        let histogram = metrics.histogram("wait_seconds", labels: ["pool": "a"], bucketBounds: [0.5, 1])
        for value in [0.25, 0.5, 0.75, 2, .nan] { histogram.observe(value) }
        histogram.observe(.milliseconds(500))
        #expect(
            text(metrics) == """
                # TYPE wait_seconds histogram
                wait_seconds_bucket{pool="a",le="0.5"} 3
                wait_seconds_bucket{pool="a",le="1.0"} 4
                wait_seconds_bucket{pool="a",le="+Inf"} 5
                wait_seconds_sum{pool="a"} 4.0
                wait_seconds_count{pool="a"} 5

                """)
    }

    @Test("keep a label value and a help text inside their places") func escapes() {
        let metrics = Metrics()
        metrics.counter("x_total", help: "a\nb \\ \"c\"", labels: ["reason": "a\"} 1\nx_total{b=\"\\"]).add()
        #expect(
            text(metrics)
                == "# HELP x_total a\\nb \\\\ \"c\"\n# TYPE x_total counter\n"
                + "x_total{reason=\"a\\\"} 1\\nx_total{b=\\\"\\\\\"} 1\n")
    }

    @Test("give one instrument for one name and the same labels") func returnsSameInstrument() {
        let metrics = Metrics()
        #expect(metrics.counter("x_total", labels: ["a": "1"]) === metrics.counter("x_total", labels: ["a": "1"]))
        #expect(metrics.counter("x_total", labels: ["a": "1"]) !== metrics.counter("x_total", labels: ["a": "2"]))
    }

    @Test("count what exceeds the bound on series together") func boundsSeries() {
        let metrics = Metrics()
        for index in 0..<(Metrics.seriesCount + 50) { metrics.counter("x_total", labels: ["id": "\(index)"]).add() }
        #expect(metrics.counter("x_total", labels: ["id": "new"]).value == 50)
        #expect(text(metrics).split(separator: "\n").count == Metrics.seriesCount + 2)
    }

    @Test("count exactly when many tasks add at once") func addsConcurrently() async {
        let metrics = Metrics()
        let histogram = metrics.histogram("h", bucketBounds: [1])
        let counter = metrics.counter("c_total")
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        counter.add()
                        histogram.observe(0.5)
                    }
                }
            }
        }
        #expect(counter.value == 8_000)
        #expect(histogram.snapshot().cumulative == [8_000, 8_000])
        #expect(histogram.snapshot().sum == 4_000)
    }

    @Test(
        "accept Prometheus' names only", arguments: [("a_b:c9", true), ("9a", false), ("", false), ("a-b", false), ("é", false)])
    func checksNames(name: String, isValid: Bool) { #expect(PrometheusText.isName(name) == isValid) }

    @Test("stop the process when a name is used for two kinds") func trapsOnKind() async {
        await #expect(processExitsWith: .failure) {
            let metrics = Metrics()
            _ = metrics.counter("x")
            _ = metrics.gauge("x")
        }
    }
}
