/// Why there is no private PostgreSQL. The description is what the operator reads.
public enum ClusterFailure: Error, Sendable, Equatable {
  /// No `initdb` and `postgres` of version 14 or later were found in these places.
  case noServer(searched: [String])
  /// The data is of another major version than any server found here.
  case wrongVersion(data: Int, found: [Int])
  case inUse(directory: String, process: Int32?)
  case notRunning(directory: String)
  case system(operation: String, path: String, reason: String)
  case program(name: String, output: String)
  case noAccount
  case tooSlow(operation: String, seconds: Int)
}

extension ClusterFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noServer(let searched):
      "no PostgreSQL server of version 14 or later found "
        + "(searched \(searched.joined(separator: ", "))); install it "
        + "(Debian, Ubuntu: apt-get install postgresql), or name a server with --database-url"
    case .wrongVersion(let data, let found):
      "the private cluster is of PostgreSQL \(data), but here is only "
        + found.map(String.init).joined(separator: ", ")
        + "; install PostgreSQL \(data), or move the data with pg_upgrade"
    case .inUse(let directory, let process?):
      "another gateway (process \(process)) uses \(directory)"
    case .inUse(let directory, nil):
      "another gateway uses \(directory)"
    case .notRunning(let directory):
      "no private PostgreSQL runs under \(directory)"
    case .system(let operation, let path, let reason):
      "cannot \(operation) \(path): \(reason)"
    case .program(let name, let output):
      "\(name) failed: \(output)"
    case .noAccount:
      "PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody"
    case .tooSlow(let operation, let seconds):
      "PostgreSQL did not \(operation) within \(seconds) s"
    }
  }
}
