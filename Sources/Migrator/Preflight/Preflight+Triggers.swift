extension Preflight {
  /// Triggers of the owner's: by name, and by what they do while rows move.
  static let triggers = """
    SELECT t.relation, tgname, 'is a trigger with the name of one of Chirrup''s', NULL::bigint,
      NULL,
      'Chirrup creates a trigger of this name',
      format('ALTER TRIGGER %I ON %I RENAME TO app_%1$s;', tgname, t.relation), true
    FROM adoptable t JOIN pg_trigger ON tgrelid = t.oid AND NOT tgisinternal
    WHERE tgname IN (\(AdoptedNames.list(AdoptedNames.triggers)))
      OR tgname = 'chirrup_' || t.relation || '_updated_at'
    UNION ALL
    SELECT t.relation, tgname, 'is a trigger of the owner''s', NULL, NULL, CASE
      WHEN tgname = t.relation || '_updated_at' THEN
        'it stays; Chirrup''s has the name chirrup_' || tgname
      ELSE 'it stays, does not fire while messages move, and fires for messages of the gateway'
        || CASE WHEN prosecdef THEN '' ELSE ', with the privileges of the gateway''s login' END END,
      CASE WHEN prosecdef THEN format('ALTER TABLE %I DISABLE TRIGGER %I;', t.relation, tgname)
        ELSE format('ALTER FUNCTION %s SECURITY DEFINER; (if it needs what the gateway''s login '
          'may not) or: ALTER TABLE %I DISABLE TRIGGER %I;', p.oid::regprocedure, t.relation,
          tgname)
        END, false
    FROM adoptable t JOIN pg_trigger ON tgrelid = t.oid AND NOT tgisinternal AND tgenabled <> 'D'
    JOIN pg_proc p ON p.oid = tgfoid
    WHERE t.relation IN ('chats', 'chat_sessions') OR tgname = t.relation || '_updated_at'
    UNION ALL
    SELECT 'update_updated_at()', '', 'does something else than to set updated_at', NULL, NULL,
      'it stays; Chirrup''s function has the name chirrup_updated_at()',
      'ALTER FUNCTION update_updated_at() RENAME TO app_updated_at;', false
    FROM pg_proc
    WHERE oid = to_regprocedure(format('%I.update_updated_at()', current_schema()))
      AND EXISTS (SELECT FROM adoptable) AND prosrc !~* (
        '^\\s*begin\\s+new\\.updated_at\\s*:?=\\s*'
        '(now\\(\\)|current_timestamp|clock_timestamp\\(\\));\\s*return\\s+new;\\s*end;?\\s*$')
    """
}
