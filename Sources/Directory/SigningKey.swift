import Postgres

/// The secret that signs the tokens of an installation. All gateways share it through the database.
public enum SigningKey {
  /// Stores `candidate` unless a key with this id exists, and returns the stored key: gateways that
  /// start at the same time get the same one.
  ///
  /// The update changes nothing: it makes the losing insert wait for the winner's row and return
  /// that.
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
