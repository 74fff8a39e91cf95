import HTTP
import JSON

/// Reads rules as the control listener takes them.
///
/// When: `on` (request or connection), `environment`, `token`, `topic`, `event`, `operation` (create, read, delete, list or publish, of
/// channels), `provider_token` (1 is the first one seen), `after`, `every`, `fraction`, `count`. What: `answer` (`status`, `reason`, `timestamp`, `headers`, `body`), `delay_ms` (a number or two),
/// `no_answer`, `hold`, `goaway` (`last`: a stream, all, none, this or before; `code`, `debug`), `reset` (`code`), `settings`,
/// `stall_ms`, `close` (before or after); for connections `refuse`, `ignore_handshake`, `foreign_certificate`, `settings`.
enum RuleReader {
    static func rule(_ value: JSONValue) throws(ControlError) -> Rule {
        var object = try ControlObject(value, name: "rule")
        var rule = Rule()
        rule.subject = try object.choice("on", Rule.Subject.self) ?? .request
        rule.condition = try condition(&object)
        rule.effect = try effect(&object)
        try object.finish()
        return rule
    }

    private static func condition(_ object: inout ControlObject) throws(ControlError) -> Rule.Condition {
        let counts: ClosedRange<Int64> = 0...1_000_000_000
        var condition = Rule.Condition()
        condition.environment = try object.choice("environment", PushEnvironment.self)
        condition.token = try object.token("token")
        condition.topic = try object.string("topic")
        condition.event = try object.choice("event", PayloadReading.Event.self)
        condition.operation = try object.choice("operation", ChannelOperation.self)
        condition.providerToken = try object.integer("provider_token", in: counts).map { Int($0) }
        condition.after = Int(try object.integer("after", in: counts) ?? 0)
        condition.every = Int(try object.integer("every", in: 1...counts.upperBound) ?? 1)
        condition.count = try object.integer("count", in: counts).map { Int($0) }
        if let fraction = object.take("fraction") {
            guard let part = fraction.double, (0...1).contains(part) else { throw ControlError("rule.fraction is not in 0...1") }
            condition.fraction = part
        }
        return condition
    }

    /// Takes the members that say what happens.
    static func effect(_ object: inout ControlObject) throws(ControlError) -> Rule.Effect {
        var effect = Rule.Effect()
        if var answer = try object.object("answer") { effect.answer = try self.answer(&answer) }
        effect.delayMilliseconds = try object.milliseconds("delay_ms")
        effect.isSilent = try object.bool("no_answer") ?? false
        effect.isHeld = try object.bool("hold") ?? false
        if var goAway = try object.object("goaway") { effect.goAway = try self.goAway(&goAway) }
        if var reset = try object.object("reset") {
            effect.resetCode = try errorCode(&reset)
            try reset.finish()
        }
        if var settings = try object.object("settings") { effect.settings = try self.settings(&settings) }
        effect.stallMilliseconds = try object.integer("stall_ms", in: 0...3_600_000)
        effect.close = try object.choice("close", Rule.Close.self)
        effect.refusesConnection = try object.bool("refuse") ?? false
        effect.ignoresHandshake = try object.bool("ignore_handshake") ?? false
        effect.showsForeignCertificate = try object.bool("foreign_certificate") ?? false
        return effect
    }

    private static func answer(_ object: inout ControlObject) throws(ControlError) -> PushAnswer {
        let reason = try object.string("reason")
        let known = reason.flatMap(Reason.init(rawValue:))
        guard let status = try object.integer("status", in: 200...599).map({ Int($0) }) ?? known?.status else {
            throw ControlError("rule.answer.status is missing")
        }
        var headers = HTTPHeaders()
        if var fields = try object.object("headers") {
            for (name, text) in try fields.remainingStrings() { headers.append(name, text) }
        }
        let timestamp = try object.integer("timestamp", in: 0...Int64.max)
        let body = try object.string("body").map { Array($0.utf8) }
        try object.finish()
        return PushAnswer(status: status, reason: reason, timestampMilliseconds: timestamp, headers: headers, body: body)
    }

    private static func goAway(_ object: inout ControlObject) throws(ControlError) -> Rule.GoAway {
        var goAway = Rule.GoAway()
        if let last = object.take("last") {
            switch (last.string, last.integer) {
            case ("all", _): goAway.last = .all
            case ("none", _): goAway.last = .none
            case ("this", _): goAway.last = .this
            case ("before", _): goAway.last = .before
            case (_, let number?) where (0...Int64(Int32.max)).contains(number): goAway.last = .stream(Int32(number))
            default: throw ControlError("goaway.last is neither a stream nor all, none, this or before")
            }
        }
        goAway.code = try errorCode(&object)
        goAway.debugData = try object.string("debug").map { Array($0.utf8) } ?? []
        try object.finish()
        return goAway
    }

    private static func errorCode(_ object: inout ControlObject) throws(ControlError) -> UInt32 {
        UInt32(try object.integer("code", in: 0...Int64(UInt32.max)) ?? 0)
    }

    private static func settings(_ object: inout ControlObject) throws(ControlError) -> [HTTP2Setting] {
        let numbers: ClosedRange<Int64> = 0...Int64(UInt32.max)
        var settings: [HTTP2Setting] = []
        func add(_ number: Int64?, _ make: (UInt32) -> HTTP2Setting) {
            if let number { settings.append(make(UInt32(number))) }
        }
        add(try object.integer("header_table_size", in: numbers)) { .headerTableSize($0) }
        add(try object.integer("max_concurrent_streams", in: numbers)) { .maxConcurrentStreams($0) }
        add(try object.integer("initial_window_size", in: 0...Int64(Int32.max))) { .initialWindowSize($0) }
        add(try object.integer("max_frame_size", in: 16_384...16_777_215)) { .maxFrameSize($0) }
        add(try object.integer("max_header_list_size", in: numbers)) { .maxHeaderListSize($0) }
        try object.finish()
        return settings
    }
}
