public import Postgres

/// The team that a page, a visitor, a rule or the bot chooses for a conversation.
public enum TeamChoice {
  /// Selects the team of the workspace with this id or name; a name counts first. No row for an
  /// unknown one: a page or a bot may name a team that was deleted. The lock keeps the team until
  /// the end of the transaction.
  public static func team(named team: SQL, in workspace: SQL) -> SQL {
    """
    SELECT t.id FROM chat_teams t
    WHERE t.workspace_id = \(workspace) AND (t.name = \(team) OR t.id::text = \(team))
    ORDER BY t.name = \(team) DESC LIMIT 1 FOR KEY SHARE OF t
    """
  }
}
