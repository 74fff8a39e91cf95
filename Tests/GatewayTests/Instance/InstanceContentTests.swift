import JSON
import Testing

@testable import Gateway

@Suite("Content of a live notification") struct InstanceContentTests {
    private let id = InstanceID(UUID(high: 0, low: 1))
    private let delivery = InstanceID(UUID(high: 0, low: 2))
    private let metadata =
        #""cioMetadata":{"deliveryId":"00000000000000000000000002","deliveryToken":"00000000000000000000000002"}"#

    private func update(_ state: String, deepLink: String? = nil) -> String {
        let content = InstanceContent.update(
            .update, attributes: Array("{}".utf8), contentState: Array(state.utf8), alert: nil,
            mark: InstanceMark(instance: id, delivery: delivery, notificationType: "t", deepLink: deepLink))
        return String(decoding: content.deviceContentState, as: UTF8.self)
    }

    @Test("puts the metadata at the end and leaves every byte before it")
    func untouched() {
        #expect(update(#"{"a":1.0,"b":"\u00e9" , "c":1e2}"#) == #"{"a":1.0,"b":"\u00e9" , "c":1e2,\#(metadata)}"#)
        #expect(update("{ \"a\" : [ 1 ] \n}") == "{ \"a\" : [ 1 ] \n,\(metadata)}")
        #expect(update("{}") == "{\(metadata)}")
        #expect(update("{ }") == "{ \(metadata)}")
        #expect(update(#"{"a":{"cioMetadata":1}}"#) == #"{"a":{"cioMetadata":1},\#(metadata)}"#)
    }

    @Test(
        "puts it in the place of the caller's, however that is written and how often",
        arguments: [
            #"{"cioMetadata":{"x":1},"a":1.0,"b":[ 2 ]}"#, #"{"a":1.0,"cio\u004detadata":null,"b":[ 2 ],"cioMetadata":7}"#,
        ])
    func replaced(state: String) {
        #expect(update(state) == #"{"a":1.0,"b":[ 2 ],\#(metadata)}"#)
    }

    @Test("has the deep link in the metadata, escaped")
    func deepLink() {
        #expect(
            update(#"{"a":1}"#, deepLink: #"app://x?"q""#)
                == #"{"a":1,"cioMetadata":{"deliveryId":"\#(delivery)","deliveryToken":"\#(delivery)","deepLink":"app://x?\"q\""}}"#
        )
    }

    @Test("of a start names the type, the instance, the alert and the sound")
    func start() {
        let request = InstanceStart(
            profile: [], notificationType: "t", pushToken: nil, platform: nil,
            attributes: Array(#"{ "n":1.0, "cioInstanceId":"mine"}"#.utf8), contentState: Array(#"{"s":1}"#.utf8),
            alert: InstanceAlert(title: "T", body: "B", sound: "ping"), deepLink: nil, expiresAt: 9)
        let content = InstanceContent.start(request, attributesType: "Order", id: id, delivery: delivery)
        #expect(content.event == .start && content.attributesType == "Order" && content.sound == "ping")
        #expect(content.deviceAttributes == Array(#"{"n":1.0,"cioInstanceId":"00000000000000000000000001"}"#.utf8))
        #expect(content.deviceContentState == Array(#"{"s":1,\#(metadata)}"#.utf8))
        #expect(content.alerts == [LocalizedAlert(language: "en", title: "T", body: "B")])
        #expect(content.priority == 10 && content.staleDate == nil && content.dismissalDate == nil)
    }

    @Test("of an update and an end has no attributes type and, unasked, no alert", arguments: [ActivityEvent.update, .end])
    func silent(event: ActivityEvent) {
        let content = InstanceContent.update(
            event, attributes: Array(#"{"a":1}"#.utf8), contentState: Array(#"{"s":1}"#.utf8), alert: nil,
            mark: InstanceMark(instance: id, delivery: delivery, notificationType: "t", deepLink: nil))
        #expect(content.event == event && content.attributesType == nil)
        #expect(content.alerts.isEmpty && content.sound == nil)
    }
}

@Suite("Built-in template") struct InstanceTemplateTests {
    private func fitting(_ state: String, _ template: InstanceTemplate = .segments) throws -> String {
        String(decoding: try template.fitting(contentState: Array(state.utf8)), as: UTF8.self)
    }

    @Test(
        "caps numbers where they stand",
        arguments: [
            (20, 20, 20, 20), (21, 21, 20, 20), (1_000_000, 3, 20, 3), (4, 5, 4, 4), (4, 4, 4, 4), (4, -1, 4, 0), (1, 0, 1, 0),
        ])
    func caps(total: Int, complete: Int, cappedTotal: Int, cappedComplete: Int) throws {
        let state = { (total: Int, complete: Int) in
            #"{ "x":1.0 ,"segmentsTotal": \#(total) , "status":"S","segmentsComplete":\#(complete)}"#
        }
        #expect(try fitting(state(total, complete)) == state(cappedTotal, cappedComplete))
    }

    @Test("leaves a state that fits as it is, however its numbers are written")
    func untouched() throws {
        for state in [
            #"{"segmentsTotal":2e1,"segmentsComplete":5.0,"status":"é","nested":{"segmentsTotal":99}}"#,
            #"{"segments\u0054otal":3,"segmentsComplete":3,"status":""}"#,
        ] { #expect(try fitting(state) == state) }
        let countdown = #"{"title":"T","segmentsTotal":99,"endTime":1753603600}"#
        #expect(try fitting(countdown, .countdownTimer) == countdown)
    }

    @Test("caps repeated members too")
    func repeated() throws {
        #expect(
            try fitting(#"{"segmentsTotal":30,"segmentsComplete":40,"status":"S","segmentsComplete":1,"segmentsTotal":2}"#)
                == #"{"segmentsTotal":20,"segmentsComplete":2,"status":"S","segmentsComplete":1,"segmentsTotal":2}"#)
    }

    @Test("names what its schema misses")
    func refused() {
        let found = #expect(throws: FieldErrors.self) { try fitting(#"{"status":null,"segmentsTotal":0.5}"#) }
        #expect(
            found?.errors.map(\.description) == [
                "content_state.status: is required", "content_state.segmentsTotal: must be a whole number",
                "content_state.segmentsComplete: is required",
            ])
        let attributes = #expect(throws: FieldErrors.self) {
            try InstanceTemplate.countdownTimer.check(attributes: Array("{}".utf8))
        }
        #expect(attributes?.errors.map(\.description) == ["attributes.header: is required"])
    }
}
