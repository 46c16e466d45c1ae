public import Postgres
public import Primitives

/// A gateway that runs on a database, as its row in `gateways` describes it. Gateways notice others
/// that differ from them, `chirrup doctor` lists them, and `migrate down` refuses while one runs.
public struct GatewayProcess: Sendable, Equatable {
  public var id: Identifier
  public var traits: GatewayTraits
  /// Empty for a gateway of a release that did not store it.
  public var host: String
  public var process: Int64?
  /// RFC 3339, in UTC; nil for a gateway of a release that did not store it.
  public var startedAt: String?

  public init(
    id: Identifier, traits: GatewayTraits, host: String, process: Int64?, startedAt: String?
  ) {
    self.id = id
    self.traits = traits
    self.host = host
    self.process = process
    self.startedAt = startedAt
  }

  /// Each gateway renews its row every two seconds, and counts as running for 15 s after the last
  /// renewal. So a gateway that crashed needs no cleanup.
  public static let silenceSeconds = 15
  /// Condition on a row of `gateways`: it was renewed within that time.
  public static let isFresh: SQL = "seen_at > now() - interval '15 seconds'"
  /// Gateways that are listed.
  static let listedMax: SQL = "100"

  /// Whether the table exists; it does not before the first migration, and after `down`.
  public static let isStored: SQL = "SELECT to_regclass('gateways') IS NOT NULL"

  /// The gateways that run and have not ended in an orderly way, the oldest first.
  ///
  /// - Parameter id: of a gateway that is left out.
  public static func running(except id: Identifier = .zero) -> Query {
    // An older schema lacks the columns after `seen_at`.
    Query(
      """
      SELECT id, g ->> 'version', g ->> 'schema_revision', g ->> 'secret_keys', g ->> 'host',
        (g ->> 'process_id')::bigint, to_char((g ->> 'started_at')::timestamptz AT TIME ZONE 'UTC',
          'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      FROM (SELECT id, seen_at, to_jsonb(gateways) AS g FROM gateways) AS known
      WHERE \(isFresh) AND g ->> 'stopped_at' IS NULL AND id <> $1::uuid
      ORDER BY (g ->> 'started_at')::timestamptz NULLS FIRST, id LIMIT \(listedMax)
      """, [.uuid(id)])
  }

  /// The gateways of an answer to `running`.
  public static func all(_ rows: Rows) -> [GatewayProcess] {
    (0..<rows.count).compactMap { row in
      guard let id = rows.uuid(row, 0) else { return nil }
      let keys = (rows.text(row, 3) ?? "").split(separator: " ").map { String($0) }
      return GatewayProcess(
        id: id,
        traits: GatewayTraits(
          version: rows.text(row, 1) ?? "", schema: rows.text(row, 2) ?? "", keys: keys),
        host: rows.text(row, 4) ?? "", process: rows.int(row, 5), startedAt: rows.text(row, 6))
    }
  }
}

extension GatewayProcess: CustomStringConvertible {
  public var description: String {
    guard let process, let startedAt else { return "an older gateway (id \(id))" }
    return "process \(process) on \(host) (version \(traits.version), since \(startedAt))"
  }
}

/// What the gateways of one database should have in common.
public struct GatewayTraits: Sendable, Equatable {
  /// Of the program; empty for a release that did not store it.
  public var version: String
  /// The last migration that the program knows.
  public var schema: String
  /// Ids of the keys that open its secrets; the first one encrypts.
  public var keys: [String]

  public init(version: String, schema: String, keys: [String]) {
    self.version = version
    self.schema = schema
    self.keys = keys
  }

  /// Whether one of two gateways encrypts secrets that the other one cannot open. During a rotation
  /// of `credentials_key` both know both keys, in whatever order.
  public func hasKeys(unlike other: GatewayTraits) -> Bool {
    guard let first = keys.first, let second = other.keys.first else { return false }
    return !other.keys.contains(first) || !keys.contains(second)
  }

  /// The differences of another gateway from this one, as words for a log or a table; empty if
  /// there is none.
  public func differences(of other: GatewayTraits) -> [String] {
    var found: [String] = []
    if hasKeys(unlike: other) { found.append("another credentials_key") }
    if version != other.version {
      found.append(other.version.isEmpty ? "an older version" : "version \(other.version)")
    }
    if schema != other.schema {
      found.append(other.schema.isEmpty ? "an older schema" : "schema \(other.schema)")
    }
    return found
  }
}
