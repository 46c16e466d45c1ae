/// Names the database behind a connection, so that another one in its place is noticed: a standby
/// that was promoted begins a new timeline, a restored backup has another object id or another
/// system identifier. In all of these the log may have gone back behind what clients have seen.
package enum StoreIdentity {
  /// One row: the name, whether statements can be bound to a workspace (see `Scope`), and the
  /// process that answers: see `PQConnection.isPooled`.
  package static let query: SQL = """
    SELECT CASE WHEN pg_is_in_recovery() THEN 'standby'
        ELSE left(md5(concat_ws('.', c.system_identifier,
          left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid)), 8) END,
      coalesce(pg_has_role(current_user, to_regrole('chirrup_reader'), 'MEMBER'), false),
      pg_backend_pid()
    FROM pg_control_system() AS c, pg_database AS d WHERE d.datname = current_database()
    """
}
