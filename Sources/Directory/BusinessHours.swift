import JSON
import Postgres
public import Primitives

/// The business hours of the next days as points in time.
public struct BusinessHours: Sendable, Equatable {
  public struct Span: Sendable, Equatable {
    public var opensAt: WallTime
    public var closesAt: WallTime

    public init(opensAt: WallTime, closesAt: WallTime) {
      self.opensAt = opensAt
      self.closesAt = closesAt
    }
  }

  public var isAlwaysOpen: Bool
  /// Sorted by opening time.
  public var spans: [Span]

  public init(isAlwaysOpen: Bool, spans: [Span] = []) {
    self.isAlwaysOpen = isAlwaysOpen
    self.spans = spans
  }

  public func isOpen(at now: WallTime) -> Bool {
    isAlwaysOpen || spans.contains { $0.opensAt <= now && now < $0.closesAt }
  }

  /// The next opening; nil while open, or if there is none within `days`.
  public func opensAt(from now: WallTime) -> WallTime? {
    isOpen(at: now) ? nil : spans.first { $0.opensAt > now }?.opensAt
  }

  /// The days after today. It begins yesterday, whose hours may pass midnight.
  static let days = 15

  /// Computes the hours from `now` on. PostgreSQL knows time zones and their changes of the
  /// clock; it refuses an unknown zone (SQLSTATE 22023).
  public static func statement(
    _ hours: WorkspaceSettings.Hours, at now: WallTime
  ) -> Statement<BusinessHours> {
    let days = JSONValue.array(
      hours.days.map {
        .object(["day": .int($0.day), "opens": .int($0.from), "closes": .int($0.to)])
      })
    let holidays = JSONValue.array(hours.holidays.map { .string($0) })
    return Statement(
      Query(
        """
        WITH local AS (SELECT ($1::timestamptz AT TIME ZONE $2::text)::date AS today)
        SELECT (d.day + make_interval(mins => w.opens)) AT TIME ZONE $2::text AS opens_at,
          (d.day + make_interval(mins => CASE WHEN w.closes > w.opens THEN w.closes
            ELSE w.closes + 1440 END)) AT TIME ZONE $2::text
        FROM local, LATERAL (
            SELECT today + n AS day FROM generate_series(-1, $5::bigint::int) AS n) AS d
          JOIN jsonb_to_recordset($3::jsonb) AS w (day int, opens int, closes int)
            ON w.day = extract(isodow FROM d.day)
        WHERE NOT $4::jsonb ? to_char(d.day, 'YYYY-MM-DD')
        ORDER BY opens_at
        """,
        [
          .time(now), .text(hours.timeZone), .json(days.text), .json(holidays.text),
          .int(Int64(BusinessHours.days)),
        ])
    ) { rows in
      BusinessHours(
        isAlwaysOpen: false,
        spans: (0..<rows.count).compactMap { row in
          guard let opensAt = rows.time(row, 0), let closesAt = rows.time(row, 1) else {
            return nil
          }
          return Span(opensAt: opensAt, closesAt: closesAt)
        })
    }
  }
}
