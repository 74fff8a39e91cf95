import Gateway
import HTTP
import Testing

@testable import API

@Suite("Stored segments") struct SegmentReadingTests {
    private let api = TestAPI()
    private static let filters = #"[{"field":"country","relation":"exists"}]"#
    private static let id = TestAPI.identifier
    private static var segment: StoredSegment {
        StoredSegment(
            id: FakePorts.accepted.publicID, name: "Fans", note: "of both", definition: Array(filters.utf8),
            createdAt: UnixMilliseconds(rawValue: 1_772_323_199_007), changedAt: UnixMilliseconds(rawValue: 1_772_323_200_000))
    }
    private static let entry =
        #"{"id":"\#(id)","name":"Fans","description":"of both","created_at":"2026-02-28T23:59:59.007Z","#
        + #""updated_at":"2026-03-01T00:00:00.000Z"}"#

    private func store(next: SegmentPageStart? = nil) {
        api.ports.with { $0.segmentPage = SegmentPage(segments: [Self.segment], totalCount: 3, next: next) }
    }

    @Test("are listed page by page, and a cursor is taken back only as it was given")
    func pages() async throws {
        store(next: .behind(createdAtMicroseconds: 5, id: FakePorts.accepted.publicID))
        let first = await api.send("GET", "/v1/segments?limit=1")
        #expect(first.status == 200)
        let cursor = Cursor(
            list: .segments,
            words: [5, FakePorts.accepted.publicID.high, FakePorts.accepted.publicID.low]
        ).text
        #expect(first.text == #"{"segments":[\#(Self.entry)],"total":3,"next_cursor":"\#(cursor)"}"#)
        store()
        let second = await api.send("GET", "/v1/segments?cursor=\(cursor)")
        #expect(second.text.hasSuffix(#""next_cursor":null}"#))
        #expect(
            api.ports.with { $0.segmentRequests } == [
                "\(SegmentPageStart.offset(0)) 1",
                "\(SegmentPageStart.behind(createdAtMicroseconds: 5, id: FakePorts.accepted.publicID)) 50",
            ])
        for wrong in [
            "", "zz", "02\(cursor.dropFirst(2))", String(cursor.dropLast(2)), "\(cursor)00",
            "01\(String(repeating: "f", count: 48))", "017\(String(repeating: "f", count: 47))",
        ] {
            let response = await api.send("GET", "/v1/segments?cursor=\(wrong)")
            #expect(response.status == 400, "\(wrong)")
            #expect(response.field == "cursor")
        }
        #expect(await api.send("GET", "/v1/segments?limit=301").field == "limit")
        #expect(await api.send("GET", "/v1/segments?offset=1").field == "offset")
    }

    @Test("are listed in OneSignal's shape by offset")
    func pagesOfApp() async {
        store()
        let response = await api.send("GET", "/apps/\(TestAPI.app)/segments?offset=2&limit=1")
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"total_count":3,"offset":2,"limit":1,"segments":[{"id":"\#(Self.id)","name":"Fans","#
                + #""created_at":"2026-02-28T23:59:59.007Z","updated_at":"2026-03-01T00:00:00.000Z","#
                + #""app_id":"\#(TestAPI.app)","read_only":false,"is_active":true}]}"#)
        let wrong = await api.send("GET", "/apps/\(TestAPI.app)/segments?offset=-1")
        #expect(wrong.status == 400)
        #expect(wrong.text == #"{"success":false,"errors":["offset: must be 0 to 10000"]}"#)
    }

    @Test("are read with their filters and how many devices match")
    func reads() async {
        store()
        let own = await api.send("GET", "/v1/segments/\(Self.id)")
        #expect(own.text == #"\#(Self.entry.dropLast()),"filters":\#(Self.filters),"devices":12}"#)
        let app = await api.send("GET", "/apps/\(TestAPI.app)/segments/\(Self.id)")
        #expect(
            app.text
                == #"{"subscriber_count":12,"payload":{"id":"\#(Self.id)","name":"Fans","description":"of both","#
                + #""created_at":1772323199,"source":"custom","filters":\#(Self.filters)}}"#)
    }

    @Test("are changed and removed, in the shape of either family")
    func changes() async {
        let target = "/segments/\(Self.id)"
        let own = await api.send("PATCH", "/v1\(target)", #"{"name":"New","description":""}"#)
        #expect(own.status == 200 && own.text == #"{"id":"\#(Self.id)"}"#)
        let app = await api.send("PATCH", "/apps/\(TestAPI.app)\(target)", #"{"filters":\#(Self.filters)}"#)
        #expect(app.status == 200 && app.text == #"{"success":true,"id":"\#(Self.id)"}"#)
        #expect(api.ports.with { $0.segmentRequests } == ["New  0", "- - \(Self.filters.utf8.count)"])
        #expect(await api.send("DELETE", "/v1\(target)").status == 204)
        let removed = await api.send("DELETE", "/apps/\(TestAPI.app)\(target)")
        #expect(removed.status == 200 && removed.text == #"{"success":true}"#)
    }

    @Test("are a 404 where the app has none of that id, and a 409 where the name is taken")
    func refuses() async {
        api.ports.with {
            $0.isKnown = false
            $0.segmentChange = .unknown
        }
        for id in [Self.id, "nonsense"] {
            for (method, body) in [("GET", ""), ("PATCH", "{}"), ("DELETE", "")] {
                let own = await api.send(method, "/v1/segments/\(id)", body)
                #expect(own.status == 404 && own.text == #"{"detail":"There is no segment of this id."}"#)
                let app = await api.send(method, "/apps/\(TestAPI.app)/segments/\(id)", body)
                #expect(app.status == 404)
                #expect(app.text == #"{"success":false,"errors":["There is no segment of this id."]}"#)
            }
        }
        api.ports.with {
            $0.segmentChange = .conflict
            $0.segment = .tooMany
        }
        #expect(await api.send("PATCH", "/v1/segments/\(Self.id)", #"{"name":"Taken"}"#).status == 409)
        let tooMany = await api.send("POST", "/v1/segments", #"{"name":"One more","filters":\#(Self.filters)}"#)
        #expect(tooMany.status == 409)
        #expect(tooMany.text == #"{"detail":"The app has 10000 segments, and no more are allowed."}"#)
        let wrong = await api.send("PATCH", "/v1/segments/\(Self.id)", #"{"filters":[],"id":"x"}"#)
        #expect(wrong.status == 400 && wrong.field == "filters")
        let long = #"{"description":"\#(String(repeating: "x", count: 1_025))"}"#
        #expect(await api.send("PATCH", "/v1/segments/\(Self.id)", long).field == "description")
    }
}
