import Testing

@testable import Store

@Suite("A window of devices to look through")
struct CarvingWindowTests {
    private static let count = Int64(Store.windowTokenCount)

    @Test("is followed by the one behind it when not all that was asked for was found, and by none when it was the last")
    func moves() {
        for last: Int64? in [nil, 70] {
            let measured = CarvingWindow(low: 50, end: 90).after(last, isFull: false)
            #expect(measured.watermark == 90 && measured.end == 90)
            let open = CarvingWindow(low: 50, end: nil).after(last, isFull: false)
            #expect(open.watermark == .max)
        }
    }

    @Test("goes on behind a full page, measured no further than it was or over as many identifiers as it has tokens")
    func slides() {
        let near = CarvingWindow(low: 50, end: 90).after(70, isFull: true)
        #expect(near.watermark == 70 && near.end == 70 + Self.count)
        let far = CarvingWindow(low: 50, end: 10 * Self.count).after(70, isFull: true)
        #expect(far.watermark == 70 && far.end == 10 * Self.count)
        let open = CarvingWindow(low: 50, end: nil).after(70, isFull: true)
        #expect(open.watermark == 70 && open.end == .max)
    }
}
