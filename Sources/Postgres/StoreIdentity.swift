/// Identifies the database behind a connection, to detect a replacement: a promoted standby has a
/// new timeline, a restored backup another object id or system identifier. In these cases the log
/// may lack messages that clients have received.
package enum StoreIdentity {
  /// One row: the identity, whether statements can be restricted to a workspace (see `Scope`), and
  /// the process id for `PQConnection.isPooled`.
  package static let query: SQL = """
    SELECT CASE WHEN pg_is_in_recovery() THEN 'standby'
        ELSE left(md5(concat_ws('.', c.system_identifier,
          left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid)), 8) END,
      coalesce(pg_has_role(current_user, to_regrole('chirrup_reader'), 'MEMBER'), false),
      pg_backend_pid()
    FROM pg_control_system() AS c, pg_database AS d WHERE d.datname = current_database()
    """
}
