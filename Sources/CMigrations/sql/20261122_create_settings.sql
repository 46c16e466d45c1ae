-- The configuration of a workspace: settings, credentials, keys, intents, reusable replies and menus.
-- parent: 20261122_carry_workspace
-- was: 04e833946ac437a5
-- loses: settings, credentials, API keys, intents, replies and menus, except in tables that were there before Chirrup
--
-- A table that was created by hand is adopted: it keeps its keys and columns, and gets those that it lacks. Its rows
-- belong to no workspace (NULL) until `chirrup import` assigns them to one.

SELECT chirrup_adopt('system_settings');
CREATE TABLE IF NOT EXISTS system_settings (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  key text NOT NULL,
  value text,
  PRIMARY KEY (workspace_id, key)
);
SELECT chirrup_expect('system_settings', 'key', 'text', 'character varying'),
  chirrup_expect('system_settings', 'value', 'text', 'character varying');
SELECT chirrup_relax('system_settings', 'key', 'value');
ALTER TABLE system_settings
  ADD COLUMN IF NOT EXISTS workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
  ADD COLUMN IF NOT EXISTS updated_at timestamptz DEFAULT now();
-- For a table with another primary key.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'system_settings'::regclass AND contype = 'p'
      AND cardinality(conkey) = 2) THEN
    CREATE UNIQUE INDEX IF NOT EXISTS system_settings_workspace_key ON system_settings (workspace_id, key);
    RAISE NOTICE 'system_settings keeps its own primary key: a name can be set in one workspace only';
  END IF;
END
$$;
SELECT chirrup_touch('system_settings');

CREATE TABLE IF NOT EXISTS credentials (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  provider text NOT NULL CHECK (provider ~ '^[a-z][a-z0-9_-]{0,63}$'),
  name text NOT NULL DEFAULT 'default' CHECK (length(name) BETWEEN 1 AND 100),
  key_id text NOT NULL,
  ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) >= 28),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, provider, name)
);
COMMENT ON TABLE credentials IS 'Secrets of other services (LINE, Telegram, …): written, never shown.';
COMMENT ON COLUMN credentials.provider IS 'The service, in small letters.';
COMMENT ON COLUMN credentials.name IS 'Tells several of one service apart.';
COMMENT ON COLUMN credentials.key_id IS 'Which key of the configuration encrypted it, so that keys can be changed.';
COMMENT ON COLUMN credentials.ciphertext IS 'AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';
SELECT chirrup_touch('credentials');

CREATE TABLE IF NOT EXISTS api_keys (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  scopes text[] NOT NULL DEFAULT '{}',
  created_by uuid REFERENCES operators (id) ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE api_keys IS 'Keys of servers that call the REST API: shown once, stored hashed.';
COMMENT ON COLUMN api_keys.token_hash IS 'SHA-256 of the key: 256 random bits need no slow hash.';
COMMENT ON COLUMN api_keys.scopes IS 'What the key may do; empty: nothing.';
CREATE UNIQUE INDEX IF NOT EXISTS api_keys_token_hash ON api_keys (token_hash);

SELECT chirrup_adopt('intents');
CREATE TABLE IF NOT EXISTS intents (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  name text NOT NULL,
  keyword text NOT NULL,
  PRIMARY KEY (workspace_id, name)
);
SELECT chirrup_expect('intents', 'name', 'text', 'character varying'),
  chirrup_expect('intents', 'keyword', 'text', 'character varying');
SELECT chirrup_relax('intents', 'name', 'keyword');
ALTER TABLE intents
  ADD COLUMN IF NOT EXISTS workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
  ADD COLUMN IF NOT EXISTS keyword text,
  ADD COLUMN IF NOT EXISTS match_kind text NOT NULL DEFAULT 'contains'
    CONSTRAINT intents_match_kind_check CHECK (match_kind IN ('exact', 'contains', 'starts_with', 'regex')),
  ADD COLUMN IF NOT EXISTS replies jsonb NOT NULL DEFAULT '[]'
    CONSTRAINT intents_replies_check CHECK (jsonb_typeof(replies) = 'array'),
  ADD COLUMN IF NOT EXISTS position integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS is_enabled boolean NOT NULL DEFAULT true;
DO $$
DECLARE
  twin text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'intents'::regclass AND contype = 'p'
      AND cardinality(conkey) = 2) THEN
    SELECT name INTO twin FROM intents GROUP BY workspace_id, name HAVING count(*) > 1 LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'intents has two rows named %', quote_literal(twin) USING ERRCODE = 'unique_violation',
        HINT = format('UPDATE intents SET name = name || '' 2'' WHERE ctid = '
          '(SELECT max(ctid) FROM intents WHERE name = %L);', twin);
    END IF;
    CREATE UNIQUE INDEX IF NOT EXISTS intents_workspace_name ON intents (workspace_id, name);
  END IF;
END
$$;
COMMENT ON COLUMN intents.match_kind IS 'How the keyword must stand in a message: exact, contains, starts_with, regex.';
COMMENT ON COLUMN intents.replies IS 'In order: texts, or names of reply objects ({"object":"…"}).';
COMMENT ON COLUMN intents.position IS 'Intents are tried by position, then by name.';

SELECT chirrup_adopt('reply_objects');
CREATE TABLE IF NOT EXISTS reply_objects (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  object_id text NOT NULL CHECK (length(object_id) BETWEEN 1 AND 50),
  object_type text NOT NULL DEFAULT 'text',
  payload jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (workspace_id, object_id)
);
SELECT chirrup_expect('reply_objects', 'object_id', 'text', 'character varying'),
  chirrup_expect('reply_objects', 'object_type', 'text', 'character varying'),
  chirrup_expect('reply_objects', 'payload', 'jsonb'), chirrup_expect('reply_objects', 'alt_text', 'text', 'character varying');
SELECT chirrup_relax('reply_objects', 'object_id', 'object_type', 'payload');
ALTER TABLE reply_objects
  ADD COLUMN IF NOT EXISTS workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
  ADD COLUMN IF NOT EXISTS alt_text text,
  ADD COLUMN IF NOT EXISTS shortcut text
    CONSTRAINT reply_objects_shortcut_check CHECK (shortcut ~ '^[^\s/]{1,32}$'),
  ADD COLUMN IF NOT EXISTS updated_at timestamptz NOT NULL DEFAULT now();
DO $$
BEGIN
  IF EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'reply_objects' AND kind = 'made') THEN
    ALTER TABLE reply_objects DROP CONSTRAINT IF EXISTS reply_objects_object_type_check;
    ALTER TABLE reply_objects ADD CONSTRAINT reply_objects_object_type_check
      CHECK (object_type IN ('text', 'buttons', 'card', 'carousel'));
  ELSE
    CREATE UNIQUE INDEX IF NOT EXISTS reply_objects_workspace_object ON reply_objects (workspace_id, object_id);
    INSERT INTO chirrup_adoptions VALUES ('reply_objects', 'exempt', 'reply_objects_object_type_check'),
      ('reply_objects', 'exempt', 'reply_objects_object_id_check') ON CONFLICT DO NOTHING;
  END IF;
END
$$;
CREATE UNIQUE INDEX IF NOT EXISTS reply_objects_shortcut ON reply_objects (workspace_id, shortcut);
SELECT chirrup_touch('reply_objects');
COMMENT ON COLUMN reply_objects.shortcut IS 'A canned reply: what an operator types after / to get it.';
COMMENT ON COLUMN reply_objects.alt_text IS 'Shown where the payload cannot be.';

CREATE TABLE IF NOT EXISTS rich_menus (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  actions jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(actions) = 'array'),
  status text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'published', 'inactive')),
  sync_status text NOT NULL DEFAULT 'none' CHECK (sync_status IN ('none', 'pending', 'synced', 'failed')),
  sync_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id),
  CHECK (sync_status = 'failed' OR sync_error IS NULL)
);
SELECT chirrup_touch('rich_menus');
COMMENT ON TABLE rich_menus IS 'Menu bars of actions in the widget.';
COMMENT ON COLUMN rich_menus.actions IS 'In order: {"label", "type", "value"}.';
COMMENT ON COLUMN rich_menus.status IS 'draft: not shown; published: shown; inactive: was shown.';
COMMENT ON COLUMN rich_menus.sync_status IS 'Whether the menu has reached the channel that shows its own copy (LINE).';
COMMENT ON COLUMN rich_menus.sync_error IS 'What the channel answered when it failed.';

DO $$
DECLARE
  made record;
BEGIN
  FOR made IN
    SELECT relation, text FROM chirrup_adoptions JOIN (VALUES
      ('system_settings', 'What a workspace has set, by name; JSON where the name says so.'),
      ('intents', 'What a visitor may ask for, and the replies that answer it.'),
      ('reply_objects', 'Reusable replies by name: canned replies, and what intents and bots send.')
    ) AS t (relation, text) USING (relation) WHERE kind = 'made'
  LOOP EXECUTE format('COMMENT ON TABLE %I IS %L', made.relation, made.text); END LOOP;
END
$$;

-- down

DROP TABLE IF EXISTS rich_menus, api_keys, credentials;
SELECT chirrup_release('reply_objects'), chirrup_release('intents'), chirrup_release('system_settings');
