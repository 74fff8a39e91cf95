import APNs
import Gateway
import JSON
import Testing

@testable import benchmark

@Suite("Figures") struct ReportTests {
    @Test(
        "have the middle value, or the mean of two",
        arguments: [([3], 3), ([9, 1, 5], 5), ([4, 1, 3, 2], 2.5)] as [([Double], Double)])
    func median(values: [Double], median: Double) {
        #expect(Samples(values).median == median)
        #expect(Samples(values).least == values.min())
        #expect(Samples(values).most == values.max())
    }

    @Test(
        "are written with the digits that were asked for",
        arguments: [
            (0.6, 2, "0.60"), (12.345, 1, "12.3"), (1.999, 2, "2.00"), (-0.25, 2, "-0.25"), (-0.001, 2, "0.00"),
            (96e6, 0, "96000000"),
            (.nan, 2, "null"),
        ] as [(Double, Int, String)])
    func decimals(value: Double, digits: Int, text: String) {
        var writer = JSONWriter()
        writer.number(value, digits: digits)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
    }

    @Test("say nothing where nothing was measured")
    func nothing() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("cost", Samples(), digits: 2)
        writer.endObject()
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"cost":null}"#)
        #expect(Samples().median == nil)
    }

    @Test(
        "reach a goal on the right side of it",
        arguments: [
            (Goal.Better.less, 0.60, true, false), (.less, 0.61, false, false), (.less, 0.30, true, true),
            (.more, 0.60, true, true),
            (.more, 0.59, false, true), (.more, 0.29, false, false),
        ] as [(Goal.Better, Double, Bool, Bool)])
    func goals(better: Goal.Better, value: Double, isReached: Bool, isAimReached: Bool) throws {
        let goal = Goal(figure: "a figure", better: better, must: 0.60, aim: 0.30, value: value, missing: nil)
        var writer = JSONWriter()
        goal.write(to: &writer)
        let object = try JSONDocument(parsing: writer.bytes).root
        #expect(object["reached"]?.bool == isReached)
        #expect(object["aim_reached"]?.bool == isAimReached)
        #expect(object["not_measured"] == nil)
    }

    @Test("come from bodies as large as the reference has them")
    func bodySize() {
        let start = SampleStart(activityType: "BenchmarkAttributes")
        #expect(
            LiveActivityPayload().largestByteCount(
                of: start.content, form: PayloadForm(service: .apnsProduction), timestamp: 1_796_033_914) == 600)
    }
}
