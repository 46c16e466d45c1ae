-- Workspaces (the tenants) and the people in them: operators, their memberships, visitors.
-- parent: none
-- was: 31a134a11bc90902 4a534d1915d4c50e 65b4ae2550b570c8
-- loses: every operator and visitor, and every workspace except those that another application made
--
-- A `workspaces` table of an older application is adopted: it keeps its columns and rows, and gets what the
-- gateway needs with defaults, so that the application's own INSERTs continue to work.

-- The owner's function of this name is used if it does only this, and otherwise left unchanged.
DO $$
DECLARE
  wanted text := 'update_updated_at';
  theirs text := (SELECT prosrc FROM pg_proc
    WHERE oid = to_regprocedure(format('%I.update_updated_at()', current_schema())));
BEGIN
  IF theirs ~* '^\s*begin\s+new\.updated_at\s*:?=\s*(now\(\)|current_timestamp|clock_timestamp\(\));\s*return\s+new;\s*end;?\s*$'
  THEN RETURN; END IF;
  IF theirs IS NOT NULL THEN wanted := 'chirrup_updated_at'; END IF;
  EXECUTE format($create$
    CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      NEW.updated_at := now();
      RETURN NEW;
    END
    $body$
  $create$, wanted);
  EXECUTE format('COMMENT ON FUNCTION %I() IS %L', wanted, 'Made by Chirrup: keeps updated_at.');
END
$$;

SELECT chirrup_adopt('workspaces');

CREATE TABLE IF NOT EXISTS workspaces (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL);

SELECT chirrup_expect('workspaces', 'id', 'uuid'), chirrup_expect('workspaces', 'name', 'text', 'character varying');

ALTER TABLE workspaces
  ADD COLUMN IF NOT EXISTS created_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS updated_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS public_key text NOT NULL
    DEFAULT 'pk_' || replace(gen_random_uuid()::text, '-', ''),
  ADD COLUMN IF NOT EXISTS identity_secret text NOT NULL
    DEFAULT 'is_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
  ADD COLUMN IF NOT EXISTS settings jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN IF NOT EXISTS allowed_origins text[];

-- The older application requires an owner of a workspace; workspaces that Chirrup creates have none.
SELECT chirrup_relax('workspaces', 'id', 'name');

DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'workspaces' AND kind = 'made') THEN
    COMMENT ON TABLE workspaces IS 'A tenant: every row of every other table belongs to one.';
  END IF;
END
$$;

COMMENT ON COLUMN workspaces.public_key IS 'Names the workspace in the widget''s snippet; not a secret.';
COMMENT ON COLUMN workspaces.identity_secret IS
  'The host site signs its visitors'' identities with it (JWT, HS256).';
COMMENT ON COLUMN workspaces.settings IS 'Greeting, accent, locale and the like.';
COMMENT ON COLUMN workspaces.allowed_origins IS 'Origins that may open the widget; NULL: any.';
CREATE UNIQUE INDEX IF NOT EXISTS workspaces_public_key_key ON workspaces (public_key);
SELECT chirrup_touch('workspaces');

CREATE TABLE IF NOT EXISTS operators (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  email text NOT NULL,
  name text NOT NULL,
  password_hash text,
  disabled_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE operators IS 'People who answer visitors, in one workspace or several.';
COMMENT ON COLUMN operators.password_hash IS 'scrypt with its parameters; NULL: no password login.';
CREATE UNIQUE INDEX IF NOT EXISTS operators_email_key ON operators (lower(email));

CREATE TABLE IF NOT EXISTS memberships (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  role text NOT NULL DEFAULT 'agent' CHECK (role IN ('owner', 'admin', 'agent')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, operator_id)
);
COMMENT ON TABLE memberships IS 'Which operator works in which workspace, and as what.';
CREATE INDEX IF NOT EXISTS memberships_operator_id ON memberships (operator_id);

CREATE TABLE IF NOT EXISTS visitors (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  external_id text,
  name text NOT NULL DEFAULT '',
  email text,
  attributes jsonb NOT NULL DEFAULT '{}',
  banned_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE visitors IS 'People who write through the widget; anonymous until the host site signs who they are.';
COMMENT ON COLUMN visitors.external_id IS 'The host site''s own id of this person, from a signed identity.';
CREATE UNIQUE INDEX IF NOT EXISTS visitors_external_id_key ON visitors (workspace_id, external_id);

-- down

DROP TABLE IF EXISTS visitors, memberships, operators;

SELECT chirrup_release('workspaces');

DO $$
DECLARE
  ours regprocedure;
BEGIN
  FOR ours IN
    SELECT oid FROM pg_proc WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname IN ('update_updated_at', 'chirrup_updated_at')
      AND obj_description(oid, 'pg_proc') = 'Made by Chirrup: keeps updated_at.'
  LOOP EXECUTE format('DROP FUNCTION %s', ours); END LOOP;
END
$$;
