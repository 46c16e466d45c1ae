import Postgres

/// The settings of the migrator's session, in addition to those of every session. A database or a
/// user may have other defaults: a `statement_timeout` that ends the building of an index, or
/// `quote_all_identifiers`, which changes the texts of definitions that are compared.
enum MigratorSession {
  private static let own: StaticString = """
    SELECT set_config(name, value, false) FROM (VALUES
      ('statement_timeout', '0'), ('lock_timeout', '0'), ('transaction_timeout', '0'),
      ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
      ('quote_all_identifiers', 'off'), ('check_function_bodies', 'on'),
      ('client_min_messages', 'notice'),
      ('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END)
    ) AS wanted (name, value) JOIN pg_settings USING (name)
    """

  /// Changes nothing through a pooler, which gives the session to others afterwards.
  static func apply(to connection: BlockingConnection) throws(MigrationFailure) {
    guard try !isPooled(connection) else { return }
    do throws(QueryFailure) {
      try connection.run(Query(own))
    } catch {
      throw MigrationFailure(error)
    }
  }

  static func isPooled(_ connection: BlockingConnection) throws(MigrationFailure) -> Bool {
    do throws(QueryFailure) {
      return try connection.isPooled()
    } catch {
      throw MigrationFailure(error)
    }
  }
}

extension MigrationFailure {
  init(_ failure: QueryFailure) {
    if case .unavailable(let reason) = failure {
      self = .unavailable(reason: reason)
    } else {
      self = .query(failure)
    }
  }
}
