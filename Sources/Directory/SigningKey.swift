import Postgres
public import Primitives

/// A secret that signs the tokens of an installation. All gateways share them through the database,
/// which holds them encrypted if there is a `credentials_key` (`Stored`).
public struct SigningKey: Sendable, Equatable {
  /// The id of the first key. Its row stays after its end: keys for other purposes are derived from
  /// it (`SecretBox`).
  public static let firstID = "tokens"
  /// Keys whose tokens are accepted at once.
  public static let acceptedMax = 8
  /// Seconds from a key's creation until it signs. Gateways read the keys more often.
  public static let leadSeconds: Int64 = 30
  /// Seconds for which the previous key is accepted after that: the longest life of a token, and
  /// what clocks may differ.
  public static let overlapSeconds: Int64 = 86_400 + 300

  public var id: String
  public var secret: [UInt8]
  public var startsAt: WallTime
  /// Nil: in use.
  public var endsAt: WallTime?

  /// Stores `candidate` unless a key with this id exists, and returns the stored key: gateways that
  /// start at the same time get the same one.
  ///
  /// The update changes nothing: it makes the losing insert wait for the winner's row and return
  /// that.
  public static func getOrCreate(id: String, candidate: Stored.Secret) -> Statement<Stored?> {
    Statement(
      Query(
        """
        INSERT INTO signing_keys (id, secret, key_id, ciphertext)
        VALUES ($1::text, $2::bytea, $3::text, $4::bytea)
        ON CONFLICT (id) DO UPDATE SET id = excluded.id
        RETURNING id, secret, key_id, ciphertext, starts_at, ends_at
        """, [.text(id)] + candidate.parameters)
    ) { Stored($0, 0) }
  }

  /// The keys, oldest first.
  public static var all: Statement<[Stored]> {
    Statement(
      Query(
        """
        SELECT id, secret, key_id, ciphertext, starts_at, ends_at FROM signing_keys
        ORDER BY starts_at LIMIT 64
        """)
    ) { rows in (0..<rows.count).compactMap { Stored(rows, $0) } }
  }

  /// Rotations and ends follow each other. Only in a transaction.
  public static var lock: Statement<Void> {
    Statement(Query("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE"))
  }

  /// Adds a key, ends the others after the overlap, and deletes those that have ended. The new key
  /// signs after `leadSeconds`; with `isAtOnce` it signs now, and the others end now. The answer is
  /// when it begins to sign; nil if another key has not begun yet, or too many are accepted.
  public static func rotate(
    id: String, secret: Stored.Secret, isAtOnce: Bool = false
  ) -> Statement<WallTime?> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO signing_keys (id, secret, key_id, ciphertext, starts_at)
          SELECT $1::text, $2::bytea, $3::text, $4::bytea, now() + $5::bigint * interval '1 second'
          WHERE $9::boolean OR (
            SELECT count(*) < $7::bigint AND count(*) FILTER (WHERE starts_at > now()) = 0
            FROM signing_keys WHERE ends_at IS NULL OR ends_at > now())
          RETURNING starts_at, starts_at + $6::bigint * interval '1 second' AS others_end
        ), ended AS (
          UPDATE signing_keys k SET ends_at = made.others_end
          FROM made WHERE k.ends_at IS NULL OR k.ends_at > made.others_end
        ), gone AS (
          DELETE FROM signing_keys WHERE ends_at <= now() AND id <> $8::text
        )
        SELECT starts_at FROM made
        """,
        [.text(id)] + secret.parameters + [
          .int(isAtOnce ? 0 : leadSeconds),
          .int(isAtOnce ? 0 : overlapSeconds), .int(Int64(acceptedMax)), .text(firstID),
          .bool(isAtOnce),
        ])
    ) { $0.isEmpty ? nil : $0.time(0, 0) }
  }

  /// Ends a key that a newer one has replaced. The answer is false if the key is unknown or has
  /// ended, or if no newer one signs.
  public static func end(id: String) -> Statement<Bool> {
    Statement(
      Query(
        """
        UPDATE signing_keys k SET ends_at = now()
        WHERE id = $1::text AND (ends_at IS NULL OR ends_at > now())
          AND EXISTS (SELECT FROM signing_keys s
            WHERE s.starts_at > k.starts_at AND s.starts_at <= now()
              AND (s.ends_at IS NULL OR s.ends_at > now()))
        RETURNING id
        """, [.text(id)])
    ) { !$0.isEmpty }
  }
}
