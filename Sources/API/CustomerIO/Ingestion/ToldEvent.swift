import Gateway

/// What one event of an SDK says, as far as the gateway has a use for it.
enum ToldEvent: Sendable {
    /// What a user is called by, and the device that says so; nil when it has no push token yet.
    case identified(ProfileNames, device: DeviceRegistration?)
    /// A user's device, and what it is like.
    case device(DeviceRegistration)
    /// The user has logged out of the device.
    case userLeft(pushToken: [UInt8], user: DeviceAlias)
    case startToken(TypeToken)
    case updateToken(InstanceToken)
    /// An activity that the app started or ended by itself. `device` says whose the device is.
    case report(InstanceReport, device: DeviceRegistration)
    /// A push has arrived, or was opened.
    case delivery(InstanceID, isOpened: Bool, messageID: String)

    /// A push-to-start token.
    struct TypeToken: Sendable {
        let device: DeviceRegistration
        let pushToken: [UInt8]
        let platform: DevicePlatform
        let notificationType: String
        /// The Swift type of the attributes; SDKs on iOS always name it.
        let attributesType: String?
        let token: [UInt8]
    }

    /// The update token of one activity.
    struct InstanceToken: Sendable {
        let device: DeviceRegistration
        let pushToken: [UInt8]
        let notificationType: String
        let instance: InstanceID
        let token: [UInt8]
    }
}

/// What becomes of an event; the label of a metric, so that no event is lost unseen.
enum EventOutcome: String, CaseIterable, Sendable {
    /// It is stored, or was before.
    case applied
    /// It names no user: nothing of it may be targeted.
    case anonymous
    /// It lacks what it must have, or that is of a wrong form.
    case malformed
    /// It tells what the gateway has no use for, such as a screen or an event of the app's own.
    case unused
    /// It names a user, and no device that could be pushed.
    case noDevice = "no_device"
    /// It reports on a delivery that the gateway does not have.
    case unknownDelivery = "unknown_delivery"
    /// It tells of a device that is not the user's, or not any more.
    case foreign
    /// The device has reported the end of the activity before.
    case ended
    /// With its names the device would have too many, or PostgreSQL cannot store what it says.
    case refused
    /// The app wants proof of who a user is, which these SDKs cannot give.
    case unproven
    /// No key that the request offers may tell of devices.
    case unknownKey = "unknown_key"
}

/// Why an event is dropped, and where it is wrong, if it is.
struct DroppedEvent: Error, Sendable {
    let outcome: EventOutcome
    /// Only of what is malformed.
    let error: FieldError?

    init(_ outcome: EventOutcome) { (self.outcome, error) = (outcome, nil) }

    /// A member that is missing or wrong.
    init(_ field: String, _ problem: FieldProblem) {
        (outcome, error) = (.malformed, FieldError(field: field, problem: problem))
    }
}
