import Postgres

/// The clocks of a time zone. PostgreSQL knows the zones, and when their clocks change.
public enum LocalTime {
  /// The second of the day. PostgreSQL refuses an unknown zone (SQLSTATE 22023).
  public static func secondOfDay(in zone: String) -> Statement<Int64> {
    Statement(
      Query(
        "SELECT floor(extract(epoch FROM (now() AT TIME ZONE $1::text)::time))::bigint",
        [.text(zone)])
    ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }
  }

  /// Whether the zone has this name. AT TIME ZONE takes much more: abbreviations, and any word with
  /// an offset behind it.
  public static func exists(_ zone: String) -> Statement<Bool> {
    Statement(
      Query(
        """
        SELECT $1::text = 'UTC' OR EXISTS (SELECT FROM pg_timezone_names WHERE name = $1::text)
        """, [.text(zone)])
    ) { $0.isEmpty ? false : $0.bool(0, 0) ?? false }
  }
}
