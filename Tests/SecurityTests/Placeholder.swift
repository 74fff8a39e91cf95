import Testing
@testable import Security
