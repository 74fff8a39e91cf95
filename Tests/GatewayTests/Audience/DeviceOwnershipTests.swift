import Testing

@testable import Gateway

@Suite("Who has a device") struct DeviceOwnershipTests {
    private static func device(_ aliases: [ExactText: ExactText]) -> DeviceProfile {
        var device = DeviceProfile(environment: .production)
        device.aliases = aliases
        device.tags = ["plan": "pro"]
        return device
    }

    @Test(
        "changes with a whole user who is named otherwise, where no external_id says who it was",
        arguments: [
            (["customer": "42"], ["customer": "43"], nil, true), (["customer": "42"], ["customer": "42"], nil, false),
            (["customer": "42"], ["team": "red"], nil, false), (["customer": "42", "team": "red"], ["team": "blue"], nil, true),
            // The label of a path says which of the names is the user's.
            (["customer": "42", "team": "red"], ["customer": "42", "team": "blue"], "customer", false),
            (["customer": "42", "team": "red"], ["customer": "43", "team": "red"], "customer", true),
            (["external_id": "a", "team": "red"], ["external_id": "a", "team": "blue"], nil, false),
            (["external_id": "a", "customer": "42"], ["customer": "42"], "customer", true),
            (["external_id": "a", "customer": "42"], ["external_id": "a", "customer": "43"], "customer", false),
            (["onesignal_id": "x", "customer": "42"], ["external_id": "a"], nil, false),
            (["onesignal_id": "x", "customer": "42"], ["external_id": "a", "customer": "43"], nil, true),
        ] as [([ExactText: ExactText], [ExactText: String], ExactText?, Bool)])
    func wholeUser(
        aliases: [ExactText: ExactText], told: [ExactText: String], label: ExactText?, isLeft: Bool
    ) {
        var registration = DeviceRegistration()
        registration.aliases = told.mapValues { Optional($0) }
        registration.namesWholeUser = true
        registration.userLabel = label
        registration.tagsBelongToUser = true
        let before = Self.device(aliases)
        #expect(before.isLeft(by: registration) == isLeft)
        let after = before.applying(registration)
        #expect(after.tags.isEmpty == isLeft)
        if isLeft { #expect(after.aliases == told.mapValues { ExactText($0) }) }
    }

    @Test("changes when the last name goes, unless the gateway itself has one for the device")
    func lastName() {
        var registration = DeviceRegistration()
        registration.aliases = ["customer": nil]
        #expect(Self.device(["customer": "42"]).isLeft(by: registration))
        #expect(!Self.device(["customer": "42", "team": "red"]).isLeft(by: registration))
        #expect(!Self.device(["customer": "42", "onesignal_id": "x"]).isLeft(by: registration))
        #expect(!Self.device(["customer": "42", "external_id": "a"]).isLeft(by: registration))
        #expect(!Self.device([:]).isLeft(by: registration))
    }

    @Test("who logs in keeps what an anonymous user was called, but not what only another user's token can have given")
    func logIn() throws {
        let before = Self.device(["customer": "42", "onesignal_id": "x"])
        for (claimed, isRequired, isLeft) in [
            (["external_id": "a"], false, false), (["external_id": "a"], true, true),
            (["external_id": "a", "customer": "42"], true, false),
        ] as [([ExactText: ExactText], Bool, Bool)] {
            let claims = try #require(IdentityClaims(aliases: claimed))
            var registration = claims.applied(to: DeviceRegistration())
            registration.vouchedAliases = isRequired ? claims.aliases : nil
            registration.tagsBelongToUser = true
            let after = before.applying(registration)
            #expect(after.aliases["customer"] == (isLeft ? nil : "42"), "\(claimed) \(isRequired)")
            #expect(after.tags.isEmpty == isLeft && after.externalID == "a")
        }
        // Known already: it is no log-in.
        var known = before
        known.aliases["external_id"] = "a"
        var registration = DeviceRegistration()
        registration.externalID = "a"
        registration.vouchedAliases = ["external_id": "a"]
        #expect(known.applying(registration) == known)
    }

    @Test("who proves to be a user can give the device up by a null")
    func proofGivesUp() throws {
        for label in ["external_id", "customer"] as [ExactText] {
            let claims = try #require(IdentityClaims(aliases: [label: "1"]))
            var registration = DeviceRegistration()
            registration.aliases.updateValue(nil, forKey: label)
            let before = Self.device([label: "1", "team": "red"])
            let given = claims.applied(to: registration)
            #expect(before.isLeft(by: given) && before.applying(given).aliases.isEmpty, "\(label)")
            #expect(before.applying(claims.applied(to: DeviceRegistration())) == before)
        }
    }

    @Test("what waits for a user who is named by aliases alone goes with any of them, and stays when names come")
    func namedBefore() {
        for (aliases, told, isLeft) in [
            (["customer": "42"], ["customer": "43"], true), (["customer": "42", "team": "red"], ["team": nil], true),
            (["customer": "42"], ["team": "red"], false), (["customer": "42"], ["external_id": "a"], false),
            (["external_id": "a", "team": "red"], ["team": nil], false), (["external_id": "a"], ["external_id": "b"], true),
            (["external_id": "a"], ["external_id": nil], true),
        ] as [([ExactText: ExactText], [ExactText: String?], Bool)] {
            var registration = DeviceRegistration()
            registration.aliases = told
            let before = Self.device(aliases)
            #expect(before.leavesNamed(to: before.applying(registration), by: registration) == isLeft, "\(aliases) \(told)")
        }
    }
}

@Suite("The device a user is at") struct ActiveDeviceTests {
    private static func device(_ number: UInt64, lastSession: Int64?) -> UserDevice {
        var profile = DeviceProfile(environment: .production)
        profile.lastSession = lastSession
        return UserDevice(subscriptionID: UUID(high: 0, low: number), profile: profile)
    }

    @Test("is the one that is named, else the one that was active last, else the first")
    func isFound() {
        let devices = [Self.device(1, lastSession: 10), Self.device(2, lastSession: 30), Self.device(3, lastSession: 30)]
        #expect(UserDevice.active(among: devices, subscription: UUID(high: 0, low: 3)) == 2)
        #expect(UserDevice.active(among: devices, subscription: UUID(high: 0, low: 9)) == 1)
        #expect(UserDevice.active(among: devices, subscription: nil) == 1)
        #expect(UserDevice.active(among: (1...3).map { Self.device($0, lastSession: nil) }, subscription: nil) == 0)
    }
}
