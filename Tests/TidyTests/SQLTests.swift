/// The place of SQL: a statement stands in the target that owns its table, and nowhere else.
import Testing

@Suite struct SQLTests {
  /// The targets with SQL, and their files if only some may have it; empty: all files.
  static let owners: [String: [String]] = [
    "Postgres": [], "SharedSQL": [], "Migrator": [], "Journal": [], "Directory": [],
    "DataRetention": [], "Webhooks": [], "WebPush": [], "Mail": [], "Automation": [],
    "Attachments": [], "Conversations": [], "Channels": [],
    // The table `idempotency_keys`.
    "REST": ["Routing/Idempotency.swift"],
    // The table `gateways`, and notifications between gateways.
    "Gateway": ["Peers/Peers.swift"],
    // Example conversations; and PostgreSQL's own catalogues and settings, which no target owns.
    "chirrup": [
      "BackupCommand.swift", "BackupProgress.swift", "ClusterCensus+Reading.swift",
      "DemoData.swift", "DemoContent.swift", "GeneratedConversations.swift",
      "Doctor/AutovacuumCheck.swift", "Doctor/BloatCheck.swift",
      "Doctor/ClockCheck.swift", "Doctor/CommitTimeCheck.swift", "Doctor/DatabaseCheck.swift",
      "Doctor/DatabaseConnectionsCheck.swift", "Doctor/DurabilityCheck.swift",
      "Doctor/LocksCheck.swift",
      "Doctor/TimeZonesCheck.swift", "Doctor/WraparoundCheck.swift",
    ],
  ]

  @Test(
    "SQL stands with the owner of its table only",
    arguments: SourceFile.swift.filter { $0.path.hasPrefix("Sources/") })
  func place(file: SourceFile) throws {
    let statement = try Regex(
      #"\b(SELECT|INSERT INTO|DELETE FROM|TRUNCATE|UPDATE [a-z_]+( [a-z]+)? SET)\b"#)
    let parts = file.path.split(separator: "/").map { String($0) }
    let name = parts.dropFirst(2).joined(separator: "/")
    if let files = Self.owners[parts[1]], files.isEmpty || files.contains(name) { return }
    for (number, line) in file.lines.enumerated() where line.contains(statement) {
      guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
      Issue.record("line \(number + 1): move the statement to the owner of its table")
    }
  }
}
