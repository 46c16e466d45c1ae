/// Whether each index of the migrations exists and is valid.
import Migrator

extension DoctorCheck {
  /// The comparison builds the schema of all migrations in a transaction that is rolled back.
  static let indexes = DoctorCheck(
    name: "indexes", symptom: "lists and searches are slow; PostgreSQL takes a whole core",
    remedy: "chirrup migrate verify lists the indexes; create them as the migrations do, or drop "
      + "the invalid ones and create them again (REINDEX INDEX CONCURRENTLY …)",
    limitMilliseconds: 30_000
  ) { examination in
    try examination.connected(as: .owner) { connection in
      let migrator = try Migrator(connection)
      let faults = IndexFaults(migrator)
      let invalid = try faults.invalid()
      if let name = invalid.first {
        return .failure(
          "invalid indexes: \(invalid.joined(separator: ", "))",
          mend: "REINDEX INDEX CONCURRENTLY \(name);")
      }
      guard try migrator.status().isCurrent else { return .skipped("the schema is not current") }
      guard try faults.canCompare() else {
        return .skipped("needs the right to create a schema: set migrations_url")
      }
      let differences = try faults.differences()
      guard let first = differences.first else { return .ok("every index is there and valid") }
      let statement = first.expected.replacing(
        "INDEX ON", with: "INDEX CONCURRENTLY \(first.name) ON")
      return .failure(
        differences.map(\.description).joined(separator: "; "),
        mend: first.found == nil ? "\(statement);" : nil)
    }
  }
}
