import Testing

@testable import Security

@Suite("Ciphertext buffer") struct CiphertextBufferTests {
    @Test("gives out in order what came in, however it is cut") func keepsOrder() {
        var generator = SystemRandomNumberGenerator()
        var buffer = CiphertextBuffer()
        var (sent, received): ([UInt8], [UInt8]) = ([], [])
        for _ in 0..<500 {
            let piece = RandomBytes.generate(count: Int.random(in: 0...3_000, using: &generator))
            sent += piece
            unsafe piece.withUnsafeBufferPointer { unsafe buffer.append($0) }
            let wanted = Int.random(in: 0...3_000, using: &generator)
            buffer.withBytes { bytes in
                let taken = min(wanted, bytes.count)
                for index in 0..<taken { received.append(bytes[index]) }
                return taken
            }
            #expect(buffer.count == sent.count - received.count)
        }
        let rest = unsafe [UInt8](unsafeUninitializedCapacity: buffer.count) { target, count in
            unsafe count = buffer.take(into: UnsafeMutableBufferPointer(rebasing: target[..<buffer.count]))
        }
        #expect(received + rest == sent)
        #expect(buffer.count == 0)
    }
}
