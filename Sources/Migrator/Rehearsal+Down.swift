import Postgres

/// Tries inside a rehearsal that `down` restores the database.
extension Migrator {
  /// Reverts the migrations and returns what is then missing (`-`) or left over (`+`), at most
  /// `differencesMax` lines.
  func rehearseDown(
    _ migrations: [Migration], before: DefinitionSnapshot
  ) throws(MigrationFailure) -> [String] {
    for migration in migrations.reversed() {
      for statement in migration.down { try run(statement, of: migration) { _ in } }
    }
    try execute(Bookkeeping.removal)
    return try Array(
      DefinitionSnapshot(self).changes(since: before).prefix(DefinitionSnapshot.changesMax))
  }
}

/// Each definition of the database, and of each table that Chirrup adopts the number and a checksum
/// of its rows.
struct DefinitionSnapshot {
  static let changesMax = 20

  private var lines: Set<String> = []

  /// The missing (`-`) and new (`+`) definitions, sorted.
  func changes(since before: DefinitionSnapshot) -> [String] {
    (before.lines.subtracting(lines).map { "- \($0)" }
      + lines.subtracting(before.lines).map { "+ \($0)" }).sorted()
  }

  /// Keeps writers away from the rows that are compared; readers do not wait.
  static func holdWriters(_ migrator: Migrator) throws(MigrationFailure) {
    let rows = try migrator.run(Query(everyDefinition))
    let tables = (0..<rows.count).compactMap { rows.text($0, 1) }
    guard !tables.isEmpty else { return }
    try migrator.execute("LOCK TABLE \(tables.joined(separator: ", ")) IN EXCLUSIVE MODE")
  }

  init(_ migrator: Migrator) throws(MigrationFailure) {
    let rows = try migrator.run(Query(DefinitionSnapshot.everyDefinition))
    for row in 0..<rows.count {
      let text = rows.text(row, 0) ?? ""
      lines.insert(text)
      guard let table = rows.text(row, 1) else { continue }
      let figures: Rows
      do throws(ScriptFailure) {
        figures = try migrator.connection.ask(
          script: "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM \(table) t")
      } catch {
        switch error {
        case .unavailable(let reason): throw .unavailable(reason: reason)
        case .refused(let refusal, _): throw .refused(refusal)
        }
      }
      lines.insert(
        "rows of \(table): \(figures.int(0, 0) ?? 0), checksum \(figures.text(0, 1) ?? "none")")
    }
  }

  /// The second column names the tables whose rows a migration may change.
  private static let everyDefinition: StaticString = """
    WITH relations AS (SELECT c.* FROM pg_class c
      WHERE relnamespace = quote_ident(current_schema())::regnamespace
        AND relkind IN ('r', 'p', 'v', 'S'))
    SELECT concat_ws(' ', 'relation', r.oid::regclass, relkind::text, relowner::regrole,
      relrowsecurity, relforcerowsecurity, (SELECT array_agg(a::text ORDER BY a::text)
        FROM unnest(coalesce(relacl, acldefault(
          CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))) AS a),
      obj_description(r.oid, 'pg_class')),
      CASE WHEN relkind = 'r' AND relname IN ('workspaces', 'chats', 'chat_sessions',
        'system_settings', 'intents', 'reply_objects') THEN r.oid::regclass::text END
    FROM relations r
    UNION ALL
    SELECT concat_ws(' ', 'column', r.oid::regclass, attname, format_type(atttypid, atttypmod),
      attnotnull, nullif(attacl::text, '{}'), pg_get_expr(adbin, adrelid),
      col_description(r.oid, attnum)), NULL
    FROM relations r JOIN pg_attribute a ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef ON adrelid = r.oid AND adnum = attnum
    UNION ALL
    SELECT concat_ws(' ', 'constraint', r.oid::regclass, conname, pg_get_constraintdef(c.oid),
      obj_description(c.oid, 'pg_constraint')), NULL
    FROM relations r JOIN pg_constraint c ON conrelid = r.oid
    UNION ALL
    SELECT pg_get_indexdef(indexrelid), NULL FROM relations r JOIN pg_index ON indrelid = r.oid
    UNION ALL
    SELECT pg_get_triggerdef(t.oid) || ' ' || tgenabled::text, NULL
    FROM relations r JOIN pg_trigger t ON tgrelid = r.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT concat_ws(' ', 'policy', r.oid::regclass, polname, polcmd::text, polpermissive,
      polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)),
      NULL
    FROM relations r JOIN pg_policy ON polrelid = r.oid
    UNION ALL
    SELECT concat_ws(' ', 'function', p.oid::regprocedure, proowner::regrole,
      (SELECT array_agg(a::text ORDER BY a::text) FROM unnest(coalesce(proacl,
        acldefault('f', proowner))) AS a),
      md5(concat(prosrc, proconfig::text, prosecdef))), NULL
    FROM pg_proc p WHERE pronamespace = quote_ident(current_schema())::regnamespace
    UNION ALL
    SELECT concat_ws(' ', 'event trigger', evtname, evtevent, evttags, evtfoid::regproc,
      evtenabled::text), NULL
    FROM pg_event_trigger
    """
}
