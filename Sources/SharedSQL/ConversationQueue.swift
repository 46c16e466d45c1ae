public import Postgres

/// The queue of a workspace: conversations without an operator, first in, first out. Those of a
/// team stand in its line, for its members; those without one in the workspace's own line.
///
/// This is the only Swift file that names the queue's column (TidyTests/QueueTests), so that every
/// statement agrees on membership, order and entry. The migrations have the transitions between
/// operator and queue: `chirrup_change`, `chirrup_claim_by_reply` and `chirrup_keep_place`.
///
/// A conversation enters the queue with its first message. Until then it waits behind the queue:
/// an operator can claim it, but it has no position and is not assigned automatically.
///
/// In each function, `s` is the alias of a row of `chat_sessions` in the statement.
public enum ConversationQueue {
  /// The column with the time of entry, by which the queue is ordered; null outside the queue.
  public static let entryTime: SQL = "waiting_since"
  /// The entry time of a conversation outside the queue.
  public static let outside: SQL = "NULL"

  /// Condition: the conversation is in the queue.
  public static func contains(_ s: SQL) -> SQL {
    "\(s).status = 'waiting' AND \(s).deleted_at IS NULL AND \(s).\(entryTime) IS NOT NULL"
  }

  /// Condition: an operator may claim the conversation. It is in the queue or behind it.
  public static func isUnclaimed(_ s: SQL) -> SQL {
    """
    \(s).status = 'waiting' AND \(s).deleted_at IS NULL AND \(s).assigned_operator_id IS NULL
    """
  }

  /// The line in which a conversation waits: the id of its team, or of its workspace without one.
  public static func line(_ s: SQL) -> SQL { "coalesce(\(s).team_id, \(s).workspace_id)" }

  /// Since when a conversation waits for its team; see `Team.overflowAfterMinutes`.
  public static func waitsForTeamSince(_ s: SQL) -> SQL {
    "greatest(\(s).\(entryTime), \(s).team_since)"
  }

  /// Sort keys: the next conversation first, those behind the queue last. The index
  /// `idx_chat_sessions_line` has this order for each workspace.
  public static func order(_ s: SQL) -> SQL { "\(s).\(entryTime), \(s).id" }

  /// Sort keys: the last conversation of the queue first.
  public static func reverseOrder(_ s: SQL) -> SQL { "\(s).\(entryTime) DESC, \(s).id DESC" }

  /// Condition: `other` is in the line of `s`, at its position or before it.
  public static func reaches(_ s: SQL, from other: SQL) -> SQL {
    """
    \(other).status = 'waiting' AND \(other).deleted_at IS NULL
      AND \(line(other)) = \(line(s))
      AND (\(other).\(entryTime), \(other).id) <= (\(s).\(entryTime), \(s).id)
    """
  }

  /// Assignment of an UPDATE: the conversation enters the queue at `time`, unless it is in the
  /// queue already or is not waiting.
  public static func enter(_ s: SQL, at time: SQL) -> SQL {
    "\(entryTime) = \(entered(s, at: time))"
  }

  private static func entered(_ s: SQL, at time: SQL) -> SQL {
    """
    CASE WHEN \(s).\(entryTime) IS NULL AND \(s).status = 'waiting'
      THEN \(time) ELSE \(s).\(entryTime) END
    """
  }

  /// Assignments of an UPDATE: an operator claims the conversation if the condition `isClaimed`
  /// holds, as `chirrup_change` has it; otherwise it enters the queue.
  public static func claimOrEnter(
    _ s: SQL, if isClaimed: SQL, by claimant: SQL, named name: SQL, at time: SQL
  ) -> SQL {
    """
    status = CASE WHEN \(isClaimed) THEN 'active' ELSE \(s).status END,
    assigned_operator_id = CASE WHEN \(isClaimed) THEN \(claimant)
      ELSE \(s).assigned_operator_id END,
    operator_name = CASE WHEN \(isClaimed) THEN \(name) ELSE \(s).operator_name END,
    claimed_at = CASE WHEN \(isClaimed) THEN \(time) ELSE \(s).claimed_at END,
    queued_at = CASE WHEN \(isClaimed) THEN coalesce(\(s).\(entryTime), \(s).queued_at)
      ELSE \(s).queued_at END,
    returned_by = CASE WHEN \(isClaimed) THEN NULL ELSE \(s).returned_by END,
    \(entryTime) = CASE WHEN \(isClaimed) THEN \(outside) ELSE \(entered(s, at: time)) END
    """
  }

  /// The open conversations of a workspace, for FROM. Each branch reads its part of the index
  /// `idx_chat_sessions_active`: of a list of statuses a planner without statistics reads all.
  public static func open(of workspace: SQL) -> SQL {
    """
    (SELECT o.* FROM chat_sessions o
        WHERE o.workspace_id = \(workspace) AND o.status = 'waiting' AND o.deleted_at IS NULL
      UNION ALL SELECT o.* FROM chat_sessions o
        WHERE o.workspace_id = \(workspace) AND o.status = 'active' AND o.deleted_at IS NULL)
    """
  }

  /// From when on the targets of a conversation count: its entry into the queue, also after that an
  /// operator has claimed it.
  public static func targetTime(_ s: SQL) -> SQL {
    "coalesce(\(s).\(entryTime), \(s).queued_at, \(s).claimed_at, \(s).created_at)"
  }

  /// Condition: the conversation was in the queue, or an operator has it.
  public static func hasBegun(_ s: SQL) -> SQL {
    "(\(s).\(entryTime) IS NOT NULL OR \(s).claimed_at IS NOT NULL)"
  }

  /// The time by which the list of waiting conversations is sorted: the entry, or the beginning of
  /// a conversation behind the queue.
  public static func listTime(_ s: SQL) -> SQL { "coalesce(\(s).\(entryTime), \(s).created_at)" }
}
