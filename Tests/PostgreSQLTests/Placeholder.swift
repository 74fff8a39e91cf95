import Testing
@testable import PostgreSQL
