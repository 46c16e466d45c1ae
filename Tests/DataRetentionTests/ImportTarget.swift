import DataRetention
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// A database into which another system's export is imported, with a member whose address and a
/// visitor whose identity the export has too.
struct ImportTarget {
  let connection: BlockingConnection
  let workspace = Identifier(high: 0x1000_0000_0000_4000, low: 0x8000_0000_0000_000A)
  var storedData: StoredData { StoredData(connection) }

  /// - Parameter visitor: the identity of the visitor.
  init(visitor: String = "customer-5") throws {
    connection = try BlockingConnection(EmptyDatabase().url)
    try Migrator(connection).up()
    try connection.execute(
      script: """
        INSERT INTO workspaces (id, name) VALUES ('10000000-0000-4000-8000-00000000000a', 'bikes');
        INSERT INTO operators (id, email, name)
        VALUES ('30000000-0000-4000-8000-00000000000a', 'omar@bikes.example', 'Omar H.');
        INSERT INTO visitors (id, workspace_id, external_id, name, created_at, last_seen_at)
        VALUES ('20000000-0000-4000-8000-00000000000a', '10000000-0000-4000-8000-00000000000a',
          '\(visitor)', 'Known', '2024-01-01', '2024-01-01');
        """)
  }

  /// All that an import stores, as text: with ids, numbers and times.
  func contents() throws -> [String] {
    let statements: [StaticString] = [
      "SELECT to_jsonb(c)::text FROM chats c ORDER BY session_id, seq",
      "SELECT (to_jsonb(s) - 'updated_at')::text FROM chat_sessions s ORDER BY id",
      "SELECT (to_jsonb(v))::text FROM visitors v ORDER BY id",
      "SELECT (to_jsonb(m) - 'updated_at')::text FROM read_marks m ORDER BY session_id, person_id",
      "SELECT (to_jsonb(t) - 'created_at')::text FROM session_tags t ORDER BY session_id, tag",
      "SELECT to_jsonb(r)::text FROM csat_responses r ORDER BY session_id",
      "SELECT (to_jsonb(r) - 'updated_at')::text FROM reply_objects r ORDER BY object_id",
      "SELECT operator_id::text || role FROM memberships ORDER BY 1",
      "SELECT id::text || name FROM chat_teams ORDER BY 1",
      "SELECT team_id::text || operator_id FROM chat_team_members ORDER BY 1",
    ]
    return try statements.flatMap { try connection.texts($0) }
  }

  /// A dry run changes nothing and counts what a run imports; another run adds nothing, and the
  /// data pass every check.
  ///
  /// - Parameter importer: makes a run, or a dry run.
  func expectImportedOnce(
    _ importer: (_ isRun: Bool) throws -> ConversationImport
  ) throws -> ConversationImport.Summary {
    let before = try contents()
    var plan = try importer(false)
    let planned = try plan.run()
    #expect(try contents() == before)
    var real = try importer(true)
    #expect(try real.run() == planned)
    #expect(real.findings == plan.findings)
    let after = try contents()
    var again = try importer(true)
    #expect(try again.run() == ConversationImport.Summary())
    #expect(try contents() == after)
    #expect(try Migrator(connection).verify().filter { !$0.passed } == [])
    return planned
  }

  /// The log of a conversation: number, role, kind, name, who wrote it, time and text.
  func log(_ word: String, _ number: String) throws -> [String] {
    let rows = try connection.run(
      Query(
        """
        SELECT concat_ws('|', seq, role, kind, c.operator_name, (operator_id IS NOT NULL)::text,
          to_char(c.created_at AT TIME ZONE 'UTC', 'HH24:MI'), content)
        FROM chats c JOIN chat_sessions s ON s.id = c.session_id
        WHERE s.context -> $1::text ->> 'number' = $2 ORDER BY seq
        """, [.text(word), .text(number)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }
}

/// A file of lines in memory.
func importFile(_ name: String, _ lines: [String]) -> ImportFile {
  var rest = lines[...]
  return ImportFile(name: name) { rest.popFirst().map { Array($0.utf8) } }
}

extension ConversationImport {
  /// The rows of each reason.
  var found: [String: [String]] {
    Dictionary(uniqueKeysWithValues: findings.list.map { ("\($0.table) \($0.reason)", $0.ids) })
  }
}

/// Damages a line in one of the ways in which files are damaged. The same seed damages equally.
struct Damage: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func damage(_ line: String) -> [UInt8] {
    var bytes = Array(line.utf8)
    let at = Int.random(in: 0..<bytes.count, using: &self)
    switch Int.random(in: 0..<6, using: &self) {
    case 0: bytes.removeLast(bytes.count - at)
    case 1: bytes[at] = UInt8.random(in: 0...255, using: &self)
    case 2: bytes.remove(at: at)
    case 3: bytes.insert(contentsOf: bytes[..<at], at: at)
    case 4:
      let pieces = ["null", "[]", "{}", "-1", "1e400", "\"\\ud800\"", "\"\\u0000\"", "true", "\\"]
      bytes.replaceSubrange(
        at..<min(bytes.count, at + 6), with: Array((pieces.randomElement(using: &self) ?? "").utf8))
    default: bytes.swapAt(at, Int.random(in: 0..<bytes.count, using: &self))
    }
    return bytes
  }
}
