import Testing

@testable import Observability

@Suite("Secret") struct SecretTests {
    private struct Holder { let password = Secret("hunter2") }

    @Test("does not show in any text") func hides() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(Holder(), to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\(Holder())", "\(Optional(secret) as Any)", dumped] {
            #expect(!text.contains("hunter2"))
            #expect(text.contains("<secret>"))
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test("gives its value to those who ask") func exposes() { #expect(Secret([1, 2]).exposed == [1, 2]) }
}
