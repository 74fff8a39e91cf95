/// The parameters of one call in the shape libpq takes them: one buffer, and a type, an offset and a length each.
struct ParameterBlock {
    private(set) var bytes: [UInt8] = []
    private(set) var types: [UInt32] = []
    private(set) var lengths: [Int32] = []
    /// Where a value begins in `bytes`; nil stands for NULL.
    private(set) var offsets: [Int?] = []

    init(_ parameters: [Parameter]) {
        // PostgreSQL counts parameters in 16 bits.
        precondition(parameters.count <= Int(UInt16.max), "at most 65535 parameters")
        types.reserveCapacity(parameters.count)
        lengths.reserveCapacity(parameters.count)
        offsets.reserveCapacity(parameters.count)
        for parameter in parameters {
            types.append(parameter.type.rawValue)
            let start = bytes.count
            if case .null = parameter {
                offsets.append(nil)
            } else {
                parameter.encode(to: &bytes)
                offsets.append(start)
            }
            lengths.append(Int32(bytes.count - start))
        }
    }

    var count: Int { types.count }
}
