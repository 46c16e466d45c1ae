-- Spreads chats over 16 partitions by workspace, on plain PostgreSQL. config/DATABASE.md says when and why.
-- With the gateway stopped, after a backup:  psql --single-transaction -v ON_ERROR_STOP=1 -f partition-chats.sql URL
-- The old table stays as chats_whole; drop it when `chirrup migrate verify` has passed.

LOCK TABLE chats IN ACCESS EXCLUSIVE MODE;
ALTER TABLE chats RENAME TO chats_whole;
ALTER INDEX chats_pkey RENAME TO chats_whole_pkey;
ALTER INDEX idx_chats_session_id RENAME TO chats_whole_session_id;
ALTER INDEX idx_chats_session_created RENAME TO chats_whole_session_created;

CREATE TABLE chats (LIKE chats_whole INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS)
  PARTITION BY HASH (workspace_id);
DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE chats_%s PARTITION OF chats FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
      lpad(part::text, 2, '0'), part);
  END LOOP;
END
$$;

INSERT INTO chats SELECT * FROM chats_whole ORDER BY workspace_id, session_id, seq;

-- Keys of a partitioned table begin with what it is partitioned by. An id is unique within its workspace: that
-- is as far as the gateway's statements look.
ALTER TABLE chats ADD CONSTRAINT chats_pkey PRIMARY KEY (workspace_id, id);
CREATE UNIQUE INDEX idx_chats_session_id ON chats (workspace_id, session_id, seq);
CREATE INDEX idx_chats_session_created ON chats (workspace_id, session_id, created_at);
ALTER TABLE chats ADD CONSTRAINT chats_session_id_fkey FOREIGN KEY (workspace_id, session_id)
  REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE;

-- Row security, grants, and the trigger of an adopted table.
DO $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT format('CREATE POLICY %I ON chats AS %s FOR %s TO %s %s %s', policyname, permissive, cmd,
      (SELECT string_agg(CASE role WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(role) END, ', ')
        FROM unnest(roles) AS role),
      'USING (' || replace(qual, 'chats_whole.', 'chats.') || ')',
      'WITH CHECK (' || replace(with_check, 'chats_whole.', 'chats.') || ')') AS command
    FROM pg_policies WHERE schemaname = current_schema() AND tablename = 'chats_whole'
    UNION ALL
    SELECT replace(pg_get_triggerdef(oid), 'chats_whole', 'chats') FROM pg_trigger
    WHERE tgrelid = 'chats_whole'::regclass AND NOT tgisinternal
    UNION ALL
    SELECT format('GRANT %s%s ON chats TO %s', privilege_type, '(' || quote_ident(col) || ')',
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
    FROM (
      SELECT acl.*, NULL AS col FROM pg_class, aclexplode(relacl) AS acl WHERE oid = 'chats_whole'::regclass
      UNION ALL
      SELECT acl.*, attname FROM pg_attribute, aclexplode(attacl) AS acl WHERE attrelid = 'chats_whole'::regclass
    ) AS granted
    UNION ALL
    SELECT 'ALTER TABLE chats FORCE ROW LEVEL SECURITY' FROM pg_class
    WHERE oid = 'chats_whole'::regclass AND relforcerowsecurity
  LOOP EXECUTE item.command; END LOOP;
END
$$;
ALTER TABLE chats ENABLE ROW LEVEL SECURITY;

-- What `verify` need not ask for any more.
INSERT INTO chirrup_adoptions (relation, kind, name) VALUES
  ('chats', 'exempt', 'chats_pkey'), ('chats', 'exempt index', 'chats_pkey'),
  ('chats', 'exempt index', 'idx_chats_session_id'), ('chats', 'exempt index', 'idx_chats_session_created')
ON CONFLICT DO NOTHING;
ANALYZE chats;
