-- expect-owner: chats has FORCE ROW LEVEL SECURITY
-- Row security that binds the tables' owner too, though not the superuser of these tests.
ALTER TABLE chats FORCE ROW LEVEL SECURITY;
DO $$
BEGIN
  IF to_regrole('app_owner') IS NULL THEN CREATE ROLE app_owner NOLOGIN; END IF;
  EXECUTE format('GRANT CREATE, USAGE ON SCHEMA public TO app_owner');
  EXECUTE format('GRANT CREATE ON DATABASE %I TO app_owner', current_database());
END
$$;
ALTER TABLE chats OWNER TO app_owner;
ALTER TABLE workspaces OWNER TO app_owner;
