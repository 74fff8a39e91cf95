package import HTTP

/// One instruction to misbehave: when it applies, how often, and what happens then.
package struct Rule: Sendable {
    /// What a rule watches.
    package enum Subject: String, Sendable {
        /// Requests that Apple would have accepted, and the connections they come on.
        case request
        /// New TCP connections.
        case connection
    }
    package var subject: Subject = .request
    package var condition = Condition()
    package var effect = Effect()

    /// Applies to every request and does nothing, until its parts are set.
    package init() {}

    /// A rule for requests.
    package init(_ effect: Effect, when condition: Condition = Condition()) {
        self.effect = effect
        self.condition = condition
    }

    /// When a rule applies. All parts must hold; what is nil does not restrict.
    package struct Condition: Sendable {
        package var environment: PushEnvironment?
        package var token: [UInt8]?
        package var topic: String?
        package var event: PayloadReading.Event?
        /// What a request wants of broadcast channels; pushes to devices want nothing of them.
        package var operation: ChannelOperation?
        /// Number of the provider token among the distinct ones that were let in, from 1.
        package var providerToken: Int?
        /// Matches to let pass first. Default 0.
        package var after = 0
        /// Of the rest, every n-th. Default 1.
        package var every = 1
        /// Of the rest, this part, drawn by a generator with a fixed seed. Default 1.
        package var fraction = 1.0
        /// How often the rule applies in all; nil without end.
        package var count: Int?

        /// Every request.
        package init() {}
    }

    /// What happens. Several parts can happen to one request.
    package struct Effect: Sendable {
        /// Answers this instead of success. A request of channels that a status of 300 or more refuses is not carried out; one that
        /// is answered late or never is.
        package var answer: PushAnswer?
        /// Waits so many milliseconds before the answer, drawn evenly.
        package var delayMilliseconds: ClosedRange<Int64>?
        /// Never answers, and keeps the stream open.
        package var isSilent = false
        /// Answers when the simulator is told to release.
        package var isHeld = false
        /// Sends GOAWAY at once; answers to streams it covers still follow.
        package var goAway: GoAway?
        /// Resets the stream with this HTTP/2 error code instead of answering.
        package var resetCode: UInt32?
        /// Sends a SETTINGS frame; for a connection, these replace the first ones.
        package var settings: [HTTP2Setting] = []
        /// Reads nothing from the connection for so many milliseconds.
        package var stallMilliseconds: Int64?
        /// Ends the TCP connection without a word.
        package var close: Close?
        /// For a connection: ends it as soon as it was made.
        package var refusesConnection = false
        /// For a connection: accepts it and never says anything.
        package var ignoresHandshake = false
        /// For a connection: shows a certificate that the simulator's authority did not sign.
        package var showsForeignCertificate = false

        /// Nothing happens.
        package init() {}

        /// Answers with one of Apple's reasons.
        package static func answer(_ reason: Reason) -> Effect {
            var effect = Effect()
            effect.answer = PushAnswer(reason)
            return effect
        }
    }

    /// When a connection is closed, seen from the request that caused it.
    package enum Close: String, Sendable {
        case before, after
    }

    /// The contents of a GOAWAY frame.
    package struct GoAway: Sendable, Equatable {
        /// The last stream that is or will be answered.
        package enum Last: Sendable, Equatable {
            /// Every stream received so far.
            case all
            /// No stream at all.
            case none
            /// The stream of this request and those below.
            case this
            /// Those below the stream of this request.
            case before
            case stream(Int32)
        }
        package var last: Last
        /// HTTP/2 error code; 0 is NO_ERROR.
        package var code: UInt32
        package var debugData: [UInt8]

        package init(last: Last = .this, code: UInt32 = 0, debugData: [UInt8] = []) {
            self.last = last
            self.code = code
            self.debugData = debugData
        }
    }
}

extension Rule.Effect {
    /// Adds the parts of a later rule that no earlier rule has decided.
    mutating func merge(_ later: Rule.Effect) {
        answer = answer ?? later.answer
        delayMilliseconds = delayMilliseconds ?? later.delayMilliseconds
        isSilent = isSilent || later.isSilent
        isHeld = isHeld || later.isHeld
        goAway = goAway ?? later.goAway
        resetCode = resetCode ?? later.resetCode
        if settings.isEmpty { settings = later.settings }
        stallMilliseconds = stallMilliseconds ?? later.stallMilliseconds
        close = close ?? later.close
        refusesConnection = refusesConnection || later.refusesConnection
        ignoresHandshake = ignoresHandshake || later.ignoresHandshake
        showsForeignCertificate = showsForeignCertificate || later.showsForeignCertificate
    }
}
