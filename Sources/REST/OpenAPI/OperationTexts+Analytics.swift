/// The operations of analytics.
extension OperationTexts {
  static let analytics: [String: String] = [
    "get_admin_live_chat_analytics": """
    Figures by day in the workspace's time zone, of at most 366 days; by default of the last 30. \
    All figures count the conversations whose first message is of these days.
    """,
    "get_admin_live_chat_analytics_operators": """
    The same figures for each operator, by the conversations they were assigned.
    """,
    "get_admin_live_chat_analytics_teams": """
    The same figures for each team that has conversations of these days.
    """,
    "get_admin_live_chat_analytics_channels": """
    The same figures for each channel on which visitors write: web, line, and those of imported \
    conversations. A conversation that is deleted for good is in none.
    """,
    "get_admin_live_chat_analytics_tags": """
    The same figures for each tag. A conversation with two tags counts for both.
    """,
    "get_admin_live_chat_analytics_ratings": """
    The ratings that the figures of these days count. A page may be short although another one \
    follows. `session`, `comment` and `visitor` are null after a deletion.
    """,
  ]
}
