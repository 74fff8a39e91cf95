import Testing

@testable import Gateway

@Suite("Device profile") struct DeviceProfileTests {
    private static func device(_ aliases: [ExactText: ExactText]) -> DeviceProfile {
        var device = DeviceProfile(environment: .production)
        device.aliases = aliases
        device.tags = ["plan": "pro"]
        return device
    }

    private static func claims(_ aliases: [ExactText: ExactText]) throws -> IdentityClaims {
        try #require(IdentityClaims(aliases: aliases))
    }

    @Test(
        "changes hands when what names its user changes: then nothing of the former is left, the tags only where they are the device's"
    )
    func changesHands() throws {
        let before = Self.device(["external_id": "a", "crm": "1", "onesignal_id": "x"])
        for (aliases, isOther) in [
            (["external_id": "a"], false), (["external_id": "b"], true), (["external_id": nil], true), (["crm": "2"], false),
            (["onesignal_id": "y"], true), (["onesignal_id": "x"], false), ([:], false),
        ] as [([ExactText: String?], Bool)] {
            for tagsBelongToUser in [true, false] {
                var registration = DeviceRegistration()
                registration.aliases = aliases
                registration.tagsBelongToUser = tagsBelongToUser
                let after = before.applying(registration)
                #expect(before.isLeft(by: registration) == isOther, "\(aliases)")
                #expect(after.tags.isEmpty == (isOther && tagsBelongToUser), "\(aliases)")
                if isOther { #expect(after.aliases == aliases.compactMapValues { $0.map { ExactText($0) } }) }
            }
        }
    }

    @Test("changes hands by the one name that a user proved, too")
    func changesHandsByProof() throws {
        let before = Self.device(["crm": "1", "other": "x"])
        let same = try Self.claims(["crm": "1"]).applied(to: DeviceRegistration())
        #expect(before.applying(same) == before)
        let other = try Self.claims(["crm": "2"]).applied(to: DeviceRegistration())
        let after = before.applying(other)
        #expect(after.aliases == ["crm": "2"])
        #expect(before.isLeft(by: other))
    }

    @Test("belongs to nobody when a whole user is told of without a name, and only then")
    func logsOut() {
        let before = Self.device(["external_id": "a", "onesignal_id": "x"])
        var registration = DeviceRegistration()
        #expect(before.applying(registration) == before)
        registration.namesWholeUser = true
        #expect(before.applying(registration).aliases.isEmpty)
        registration.givesUserID = true
        let id = UUID(high: 1, low: 2)
        #expect(before.applying(registration, makeUserID: { id }).aliases == ["onesignal_id": ExactText("\(id)")])
        let nobody = Self.device(["onesignal_id": "x"])
        #expect(nobody.applying(registration) == nobody)
    }

    @Test("adds sessions up, and stays at the largest number")
    func addsSessions() {
        var device = DeviceProfile(environment: .production)
        device.sessionCount = 3
        var registration = DeviceRegistration()
        registration.addedSessionCount = 2
        registration.addedSessionSeconds = 60
        #expect(device.applying(registration).sessionCount == 5)
        #expect(device.applying(registration).sessionSeconds == 60)
        device.sessionCount = .max - 1
        #expect(device.applying(registration).sessionCount == .max)
        registration.sessionCount = 10
        #expect(device.applying(registration).sessionCount == 12)
    }

    @Test("has 20 aliases beside the names of its user, and 100 tags")
    func isBounded() {
        var device = Self.device(["external_id": "a", "onesignal_id": "x"])
        for number in 0..<AdmissionLimits.aliasCount { device.aliases["l\(number)"] = "x" }
        #expect(device.refusal == nil)
        device.aliases["more"] = "x"
        #expect(device.refusal == .tooManyAliases)
        device.aliases = [:]
        for number in 0..<AdmissionLimits.tagCount { device.tags["t\(number)"] = "x" }
        #expect(device.refusal == .tooManyTags, "plan was there already")
    }

    @Test("a token vouches for what it names and for nothing else, and gives up anything")
    func vouches() throws {
        let claims = try Self.claims(["external_id": "a", "crm": "1"])
        #expect(claims.proof == DeviceAlias(label: "external_id", identifier: "a"))
        for (aliases, uncovered) in [
            ([:], nil), (["external_id": "a", "crm": "1"], nil), (["crm": nil, "other": nil], nil), (["crm": "2"], "crm"),
            (["other": "1"], "other"), (["external_id": "b"], "external_id"),
        ] as [([ExactText: String?], ExactText?)] {
            var registration = DeviceRegistration()
            registration.aliases = aliases
            #expect(claims.uncoveredLabel(in: registration) == uncovered, "\(aliases)")
        }
        #expect(IdentityClaims(aliases: [:]) == nil)
        #expect(IdentityClaims(aliases: ["a": "1", "b": "2"]) == nil)
        #expect(claims.applied(to: DeviceRegistration()).externalID == "a")
    }
}
