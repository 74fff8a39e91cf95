import Testing
@testable import Networking
