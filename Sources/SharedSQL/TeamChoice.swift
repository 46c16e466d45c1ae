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

  /// Selects the team that speaks a language: `de` of a team is spoken with `de-AT`, but a team
  /// with `de-AT` comes first. Of several, one with an available member does, then the first by
  /// name. No row: none speaks it. A team without languages is not chosen by them.
  public static func team(speaking language: SQL, in workspace: SQL) -> SQL {
    """
    SELECT t.id FROM chat_teams t CROSS JOIN unnest(t.languages) AS l (tag)
    WHERE t.workspace_id = \(workspace)
      AND starts_with(lower(\(language)) || '-', lower(l.tag) || '-')
    ORDER BY length(l.tag) DESC, chirrup_is_team_available(\(workspace), t.id) DESC, t.name LIMIT 1
    """
  }
}
