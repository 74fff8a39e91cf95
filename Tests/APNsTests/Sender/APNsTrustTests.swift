import Gateway
import Testing

@testable import APNs

@Suite("Trust in APNs") struct APNsTrustTests {
    @Test("is missing while a service's last certificate was rejected, until it is heard of again or the roots change")
    func followsTheLastSight() {
        let trust = APNsTrust()
        #expect(trust.isComplete)
        trust.rejected(.production)
        trust.verified(.sandbox)
        #expect(!trust.isComplete)
        trust.verified(.production)
        #expect(trust.isComplete)
        trust.rejected(.sandbox)
        trust.rejected(.production)
        trust.verified(.production)
        #expect(!trust.isComplete)
        trust.rootsReplaced()
        #expect(trust.isComplete)
    }
}
