import JSON

/// What every report begins with: which program, on which machine, with which inputs.
struct ReportHead {
    let program: String
    let machine: Machine
    let databaseSettings: [(name: String, value: String)]

    /// Writes the members into an object that is open; `inputs` writes those of the program.
    func write(to writer: inout JSONWriter, inputs: (inout JSONWriter) -> Void) {
        writer.member("program", program)
        writer.member("at", WallClock.seconds)
        writer.member("build", Machine.build)
        machine.write(to: &writer)
        writer.key("inputs")
        writer.beginObject()
        inputs(&writer)
        writer.key("postgresql")
        writer.beginObject()
        for setting in databaseSettings { writer.member(setting.name, setting.value) }
        writer.endObject()
        writer.endObject()
    }
}
