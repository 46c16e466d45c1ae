public import Postgres

/// The hash of an entry's content (`chats.content_hash`): SHA-256 of kind, payload and text with
/// line feeds between. A second entry of the same id is a duplicate if its hash is the same,
/// otherwise a conflict. `chirrup_change` in the migrations computes the same hash.
public enum ContentHash {
  /// An expression of type `bytea`. A null payload counts as empty text.
  public static func of(kind: SQL, payload: SQL, content: SQL) -> SQL {
    """
    sha256(convert_to(\(kind) || E'\\n' || coalesce((\(payload))::text, '') || E'\\n'
      || \(content), 'UTF8'))
    """
  }
}
