public import Directory
import Postgres
import SharedSQL

/// The conversations that wait in all workspaces, and the operators who are there, for the metrics.
public struct Backlog: Sendable, Equatable {
  /// Conversations in the queues; at most `countedMax`.
  public var waiting: Int64 = 0
  /// The wait of the first of them, in seconds.
  public var oldestSeconds: Int64 = 0
  public var operatorsOnline: Int64 = 0
  /// Online and accept new conversations.
  public var operatorsAvailable: Int64 = 0

  /// The most conversations and operators that are counted.
  public static let countedMax: Int64 = 10_000

  public init() {}

  public static let read = Statement<Backlog?>(Query(sql, [.int(countedMax)])) { rows in
    guard !rows.isEmpty else { return nil }
    var backlog = Backlog()
    backlog.waiting = rows.int(0, 0) ?? 0
    backlog.oldestSeconds = max(0, rows.int(0, 1) ?? 0)
    backlog.operatorsOnline = rows.int(0, 2) ?? 0
    backlog.operatorsAvailable = rows.int(0, 3) ?? 0
    return backlog
  }

  private static let sql: SQL = """
    SELECT line.count, line.seconds, present.online, present.available
    FROM (SELECT count(*) AS count,
        coalesce(ceil(extract(epoch FROM now() - min(entry))), 0)::bigint AS seconds
      FROM (SELECT s.\(ConversationQueue.entryTime) AS entry FROM chat_sessions s
        WHERE \(ConversationQueue.contains("s")) LIMIT $1::bigint) AS counted) AS line,
      (SELECT count(*) AS online, count(*) FILTER (WHERE is_available) AS available
      FROM (SELECT is_available FROM operator_presence
        WHERE chirrup_is_present(seen_at) LIMIT $1::bigint) AS seen) AS present
    """
}
