/// What makes the pushes of one notification differ from device to device, beside the language.
package struct PushVariant: Hashable, Sendable {
    /// The attributes type this device's app has; nil for the content's own.
    package let attributesType: String?
    /// Whether a start puts the device on the activity's broadcast channel, where there is one in its environment.
    package let joinsChannel: Bool
    /// By default the content as it is.
    package init(attributesType: String? = nil, joinsChannel: Bool = false) {
        self.attributesType = attributesType
        self.joinsChannel = joinsChannel
    }
}

/// The form in which one group of devices gets the content.
package struct PayloadForm: Hashable, Sendable {
    package let service: PushService
    /// In place of the content's own; nil for that.
    package let attributesType: String?
    /// `input-push-channel` of a start; nil asks for an update token instead.
    package let channelID: String?
    /// The form all devices of a service get unless something else is said.
    package init(service: PushService, attributesType: String? = nil, channelID: String? = nil) {
        self.service = service
        self.attributesType = attributesType
        self.channelID = channelID
    }
    /// The form in which the size of a start is measured before it is accepted: with room for a channel's identifier where the app puts
    /// devices on channels. Which channel it will be, and whether there is one, is not known yet.
    package init(measuringStartOf application: Application) {
        let room = String(repeating: "=", count: AdmissionLimits.channelIDByteCount)
        self.init(service: .apnsProduction, channelID: application.usesChannels ? room : nil)
    }
}

/// Turns content into the JSON a push service takes.
package protocol PayloadRenderer: Sendable {
    /// The body for one alert language.
    ///
    /// - Parameters:
    ///   - form: for which service, and what is particular about the devices.
    ///   - timestamp: `aps.timestamp`, seconds since 1970.
    ///   - alert: the alert to show; nil for none.
    func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8]
    /// The bytes of a body as its service counts them.
    func countedByteCount(_ body: [UInt8], form: PayloadForm) -> Int
}

extension PayloadRenderer {
    /// All of them, as APNs counts.
    package func countedByteCount(_ body: [UInt8], form: PayloadForm) -> Int { body.count }

    /// One body a language, in the order of `content.alerts`; one when there is none.
    package func bodies(of content: PushContent, form: PayloadForm, timestamp: Int64) -> [[UInt8]] {
        let alerts: [LocalizedAlert?] = content.alerts.isEmpty ? [nil] : content.alerts.map { $0 }
        return alerts.map { render(content, form: form, timestamp: timestamp, alert: $0) }
    }

    /// The bytes of the largest body any language yields, as its service counts them: for the check before anything is stored.
    package func largestByteCount(of content: PushContent, form: PayloadForm, timestamp: Int64) -> Int {
        bodies(of: content, form: form, timestamp: timestamp).map { countedByteCount($0, form: form) }.max() ?? 0
    }
}

/// Renders for each service by the adapter that speaks to it.
package struct PayloadRenderers: PayloadRenderer {
    private let apple: any PayloadRenderer
    private let android: any PayloadRenderer

    /// Puts both together.
    ///
    /// - Parameters:
    ///   - apple: for everything that ends at an iOS device, whoever carries it.
    ///   - android: for Android devices.
    package init(apple: any PayloadRenderer, android: any PayloadRenderer) {
        self.apple = apple
        self.android = android
    }

    package func render(_ content: PushContent, form: PayloadForm, timestamp: Int64, alert: LocalizedAlert?) -> [UInt8] {
        let renderer = form.service == .fcm ? android : apple
        return renderer.render(content, form: form, timestamp: timestamp, alert: alert)
    }

    package func countedByteCount(_ body: [UInt8], form: PayloadForm) -> Int {
        (form.service == .fcm ? android : apple).countedByteCount(body, form: form)
    }
}
