import EmbeddedPostgres
import Postgres
import Synchronization

/// A separate database for one test, on the server that all tests of the process share.
struct TestDatabase {
  let url: String

  private static let count = Atomic<Int>(0)

  init() throws {
    let base = try ScratchCluster.url()
    let name = "postgres_\(TestDatabase.count.add(1, ordering: .relaxed).newValue)"
    try BlockingConnection(base).execute(script: "CREATE DATABASE \(name)")
    url = base.replacing("/chirrup?", with: "/\(name)?")
  }

  func connect() throws -> BlockingConnection { try BlockingConnection(url) }
}
