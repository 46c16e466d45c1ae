-- Workspaces (the tenants) and the people in them: operators, their memberships, visitors.
-- parent: none
-- loses: every operator and visitor, and every workspace unless the table was there before Chirrup
--
-- A `workspaces` table of an older application is adopted: it keeps its columns and rows, and gets what the
-- gateway needs with defaults, so that the application's own INSERTs go on working. The table's comment
-- remembers the adoption, so that the way back takes only the added columns.

DO $$
BEGIN
  IF to_regprocedure('update_updated_at()') IS NULL THEN
    CREATE FUNCTION update_updated_at() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      NEW.updated_at := now();
      RETURN NEW;
    END
    $body$;
  END IF;
END
$$;

DO $$
BEGIN
  IF to_regclass('workspaces') IS NULL THEN
    CREATE TABLE workspaces (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL);
    COMMENT ON TABLE workspaces IS 'A tenant: every row of every other table belongs to one.';
  ELSIF obj_description('workspaces'::regclass) IS NULL THEN
    COMMENT ON TABLE workspaces IS 'Adopted by Chirrup: a tenant.';
  END IF;
END
$$;

ALTER TABLE workspaces
  ADD COLUMN IF NOT EXISTS created_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS updated_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS public_key text NOT NULL
    DEFAULT 'pk_' || replace(gen_random_uuid()::text, '-', ''),
  ADD COLUMN IF NOT EXISTS identity_secret text NOT NULL
    DEFAULT 'is_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
  ADD COLUMN IF NOT EXISTS settings jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN IF NOT EXISTS allowed_origins text[];

COMMENT ON COLUMN workspaces.public_key IS 'Names the workspace in the widget''s snippet; not a secret.';
COMMENT ON COLUMN workspaces.identity_secret IS
  'The host site signs its visitors'' identities with it (JWT, HS256).';
COMMENT ON COLUMN workspaces.settings IS 'Greeting, accent, locale and the like.';
COMMENT ON COLUMN workspaces.allowed_origins IS 'Origins that may open the widget; NULL: any.';
CREATE UNIQUE INDEX IF NOT EXISTS workspaces_public_key_key ON workspaces (public_key);
CREATE OR REPLACE TRIGGER workspaces_updated_at BEFORE UPDATE ON workspaces
  FOR EACH ROW EXECUTE FUNCTION update_updated_at();

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

DO $$
BEGIN
  IF obj_description('workspaces'::regclass) IS DISTINCT FROM 'Adopted by Chirrup: a tenant.' THEN
    DROP TABLE workspaces;
  ELSE
    DROP TRIGGER IF EXISTS workspaces_updated_at ON workspaces;
    ALTER TABLE workspaces
      DROP COLUMN IF EXISTS public_key, DROP COLUMN IF EXISTS identity_secret,
      DROP COLUMN IF EXISTS settings, DROP COLUMN IF EXISTS allowed_origins;
    COMMENT ON TABLE workspaces IS NULL;
  END IF;
END
$$;
