import JSON

/// The settings as the control listener takes and shows them: one name for each.
enum SettingsReader {
    /// Changes what the object names and leaves the rest.
    static func apply(_ value: JSONValue, to settings: inout SimulatorSettings) throws(ControlError) {
        var object = try ControlObject(value, name: "settings")
        let streams: ClosedRange<Int64> = 0...Int64(Int32.max)
        let seconds: ClosedRange<Int64> = 0...1_000_000_000
        var changed = settings
        if let number = try object.integer("initial_concurrent_streams", in: streams) {
            changed.initialConcurrentStreams = UInt32(number)
        }
        if let number = try object.integer("concurrent_streams", in: streams) { changed.concurrentStreams = UInt32(number) }
        changed.latencyMilliseconds = try object.milliseconds("latency_ms") ?? changed.latencyMilliseconds
        changed.recordsRequests = try object.bool("record") ?? changed.recordsRequests
        if let number = try object.integer("record_limit", in: 1...100_000_000) { changed.recordedRequestLimit = Int(number) }
        if let number = try object.integer("record_bytes", in: 0...1 << 40) { changed.recordedByteLimit = Int(number) }
        changed.readsPayloads = try object.bool("read_payloads") ?? changed.readsPayloads
        changed.acceptsUnknownTokens = try object.bool("accept_unknown_tokens") ?? changed.acceptsUnknownTokens
        changed.acceptsDERSignatures = try object.bool("accept_der_signatures") ?? changed.acceptsDERSignatures
        changed.providerTokenLifetimeSeconds =
            try object.integer("provider_token_lifetime_s", in: seconds) ?? changed.providerTokenLifetimeSeconds
        changed.clockToleranceSeconds = try object.integer("clock_tolerance_s", in: seconds) ?? changed.clockToleranceSeconds
        changed.providerTokenUpdateSeconds =
            try object.integer("provider_token_update_s", in: seconds) ?? changed.providerTokenUpdateSeconds
        changed.clockOffsetSeconds =
            try object.integer("clock_offset_s", in: -1_000_000_000...1_000_000_000) ?? changed.clockOffsetSeconds
        changed.broadcastIsEnabled = try object.bool("broadcast_enabled") ?? changed.broadcastIsEnabled
        if let number = try object.integer("channel_limit", in: 0...1_000_000) { changed.channelLimit = Int(number) }
        changed.spellsReasonsAsDocumented =
            try object.bool("documented_spelling") ?? changed.spellsReasonsAsDocumented
        changed.takesManagement = try object.bool("take_management") ?? changed.takesManagement
        changed.listens = try object.bool("listen") ?? changed.listens
        try object.finish()
        settings = changed
    }

    static func write(_ settings: SimulatorSettings, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("initial_concurrent_streams", settings.initialConcurrentStreams)
        writer.member("concurrent_streams", settings.concurrentStreams)
        writer.key("latency_ms")
        writer.beginArray()
        writer.integer(settings.latencyMilliseconds.lowerBound)
        writer.integer(settings.latencyMilliseconds.upperBound)
        writer.endArray()
        writer.member("record", settings.recordsRequests)
        writer.member("record_limit", settings.recordedRequestLimit)
        writer.member("record_bytes", settings.recordedByteLimit)
        writer.member("read_payloads", settings.readsPayloads)
        writer.member("accept_unknown_tokens", settings.acceptsUnknownTokens)
        writer.member("accept_der_signatures", settings.acceptsDERSignatures)
        writer.member("provider_token_lifetime_s", settings.providerTokenLifetimeSeconds)
        writer.member("clock_tolerance_s", settings.clockToleranceSeconds)
        writer.member("provider_token_update_s", settings.providerTokenUpdateSeconds)
        writer.member("clock_offset_s", settings.clockOffsetSeconds)
        writer.member("broadcast_enabled", settings.broadcastIsEnabled)
        writer.member("channel_limit", settings.channelLimit)
        writer.member("documented_spelling", settings.spellsReasonsAsDocumented)
        writer.member("take_management", settings.takesManagement)
        writer.member("listen", settings.listens)
        writer.endObject()
    }
}
