import Postgres
import Primitives

extension Lock {
  /// Serialises changes of an account's factors and logins, so that a login that was checked
  /// without a second factor does not begin while one is being added.
  static func account(_ id: Identifier?) -> Lock {
    Lock(
      "SELECT pg_advisory_xact_lock(hashtextextended('chirrup account ' || $1::uuid::text, 0))",
      [.uuid(id)])
  }
}
