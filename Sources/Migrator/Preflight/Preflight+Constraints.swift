extension Preflight {
  /// Ids that nothing keeps unique, and indexes of our names that belong to constraints.
  static let keys = """
    SELECT relation, 'id', 'is not the primary key, nor unique', NULL::bigint,
      format('SELECT count(*) - count(DISTINCT id), (SELECT ''id = '' || id FROM %1$I WHERE id IS '
        'NOT NULL GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT 1) FROM %1$I', relation),
      'a message that is sent twice is recognised by its id',
      format('ALTER TABLE %I ADD PRIMARY KEY (id); (after the doubles among its rows are removed)',
        relation), true
    FROM adoptable t
    WHERE relation IN ('workspaces', 'chats', 'chat_sessions') AND relkind = 'r'
      AND EXISTS (SELECT FROM pg_attribute
        WHERE attrelid = t.oid AND attname = 'id' AND NOT attisdropped)
      AND NOT EXISTS (SELECT FROM pg_index
        JOIN pg_attribute ON attrelid = indrelid AND attname = 'id'
        WHERE indrelid = t.oid AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL
          AND indnkeyatts = 1 AND indkey[0] = attnum)
    UNION ALL
    SELECT t.relation, conname, 'has the name of an index of Chirrup''s', NULL, NULL,
      'an index of a constraint cannot be replaced',
      format('ALTER TABLE %I RENAME CONSTRAINT %I TO app_%2$s;', t.relation, conname), true
    FROM adoptable t JOIN pg_constraint ON conrelid = t.oid AND conindid <> 0
    WHERE conname ~ '^idx_chats?_' AND contype IN ('p', 'u', 'x')
    """

  /// Rules of the owner's that Chirrup's rows may break, and those that are relaxed.
  static let constraints = """
    SELECT t.relation, attname,
      'refers to ' || confrelid::regclass::text || ', in which visitors are not',
      NULL::bigint, NULL, format('the foreign key %I is dropped until `down`, which removes '
        'Chirrup''s rows that break it: rows of deleted users stay meanwhile', conname),
      format('ALTER TABLE %I DROP CONSTRAINT %I;', t.relation, conname), false
    FROM adoptable t JOIN pg_constraint ON conrelid = t.oid AND contype = 'f'
    JOIN pg_attribute ON attrelid = t.oid AND conkey = ARRAY[attnum] AND attname = 'user_id'
    WHERE t.relation IN ('chats', 'chat_sessions')
    UNION ALL
    SELECT t.relation, attname,
      'refers to ' || confrelid::regclass::text || ', and to workspaces in Chirrup',
      NULL, NULL, 'Chirrup''s workspaces are not in it', \(ownSchema), true
    FROM adoptable t JOIN pg_constraint ON conrelid = t.oid AND contype = 'f'
    JOIN pg_attribute ON attrelid = t.oid AND conkey = ARRAY[attnum] AND attname = 'workspace_id'
    WHERE confrelid IS DISTINCT FROM to_regclass('workspaces')
    UNION ALL
    SELECT t.relation, conname, pg_get_constraintdef(c.oid), NULL, NULL,
      'it stays: a message of Chirrup''s that breaks it is refused to its sender',
      format('ALTER TABLE %I DROP CONSTRAINT %I;', t.relation, conname), false
    FROM adoptable t JOIN pg_constraint c ON conrelid = t.oid AND contype IN ('c', 'u', 'x')
    WHERE t.relation IN ('chats', 'chat_sessions') AND NOT (contype = 'c' AND EXISTS (SELECT
      FROM pg_attribute WHERE attrelid = t.oid AND attname = 'role' AND conkey = ARRAY[attnum]))
    """
}
