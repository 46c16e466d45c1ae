import Postgres

/// The secret that signs the tokens of one installation, shared by all its gateways through the
/// database.
public enum SigningKey {
  /// Stores `candidate` unless a key of this name exists already, and answers the stored one: two
  /// gateways that start at once end up with the same key.
  ///
  /// The update that changes nothing makes the losing insert wait for, and return, the winner's
  /// row.
  public static func getOrCreate(id: String, candidate: [UInt8]) -> Statement<[UInt8]?> {
    Statement(
      Query(
        """
        INSERT INTO signing_keys (id, secret) VALUES ($1::text, $2::bytea)
        ON CONFLICT (id) DO UPDATE SET id = excluded.id
        RETURNING secret
        """, [.text(id), .bytes(candidate)])
    ) { $0.isEmpty ? nil : $0.bytes(0, 0) }
  }
}
