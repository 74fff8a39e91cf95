import Gateway
import HTTP
import JSON
import Security

/// A user as OneSignal's clients read one: what its devices say together.
///
/// Names come from the device that registered first, properties from the one that was active last; what that lacks, from the others.
struct UserAnswer {
    let application: Application
    /// The device registered first comes first; empty for a user whose device is yet to come.
    let devices: [UserDevice]
    /// What a user without a device is called.
    var names: [ExactText: ExactText] = [:]

    /// Every name of the user.
    var identity: [ExactText: ExactText] {
        devices.reduce(into: names) { names, device in names.merge(device.profile.aliases) { first, _ in first } }
    }

    private var latestFirst: [DeviceProfile] {
        devices.enumerated().sorted {
            ($0.element.profile.lastSession ?? 0, $0.offset) > ($1.element.profile.lastSession ?? 0, $1.offset)
        }.map(\.element.profile)
    }

    func writeIdentity(to writer: inout JSONWriter) {
        writer.key("identity")
        writer.beginObject()
        let names = identity
        for label in [DeviceProfile.userIDLabel, DeviceProfile.externalIDLabel] {
            if let identifier = names[label] { writer.member(label.text, identifier.text) }
        }
        for (label, identifier) in names.sorted(by: { $0.key < $1.key })
        where label != DeviceProfile.userIDLabel && label != DeviceProfile.externalIDLabel {
            writer.member(label.text, identifier.text)
        }
        writer.endObject()
    }

    func writeProperties(to writer: inout JSONWriter) {
        let profiles = latestFirst
        let tags = profiles.reduce(into: [:]) { tags, profile in tags.merge(profile.tags) { first, _ in first } }
        writer.key("properties")
        writer.beginObject()
        writer.key("tags")
        writer.beginObject()
        for (key, value) in tags.sorted(by: { $0.key < $1.key }) { writer.member(key.text, value.text) }
        writer.endObject()
        writer.known("language", profiles.lazy.compactMap(\.language).first)
        writer.known("timezone_id", profiles.lazy.compactMap(\.timeZone).first?.text)
        writer.known("country", profiles.lazy.compactMap(\.country).first)
        writer.known("first_active", profiles.compactMap(\.firstSession).min())
        writer.known("last_active", profiles.compactMap(\.lastSession).max())
        if let location = profiles.lazy.compactMap(\.location).first {
            for (name, degrees) in [("lat", location.latitude), ("long", location.longitude)] {
                writer.key(name)
                writer.raw("\(degrees)".utf8)
            }
        }
        writer.endObject()
    }

    /// No token is among it but the one that the caller has just told.
    func writeSubscriptions(toldToken: [UInt8]? = nil, to writer: inout JSONWriter) {
        writer.key("subscriptions")
        writer.beginArray()
        for device in devices {
            writer.beginObject()
            writeSubscription(device, toldToken: toldToken, to: &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    func writeSubscription(_ device: UserDevice, toldToken: [UInt8]?, to writer: inout JSONWriter) {
        writer.member("id", "\(device.subscriptionID)")
        writer.member("app_id", "\(application.publicID)")
        writer.member("type", UserRequests.subscriptionType)
        if let toldToken { writer.member("token", Hexadecimal.encode(toldToken)) }
        writer.member("enabled", device.profile.isEnabled)
        writer.member("session_count", device.profile.sessionCount)
        writer.known("app_version", device.profile.appVersion?.text)
        writer.known("device_os", device.profile.osVersion?.text)
        if device.profile.environment == .sandbox { writer.member("test_type", 1) }
    }
}

extension JSONWriter {
    /// A member that is left out where nothing is known: OneSignal's generated clients throw at a null.
    fileprivate mutating func known(_ name: String, _ value: String?) {
        if let value { member(name, value) }
    }

    fileprivate mutating func known(_ name: String, _ value: Int64?) {
        if let value { member(name, value) }
    }
}
