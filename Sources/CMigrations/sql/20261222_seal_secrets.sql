-- Identity secrets are encrypted, and a workspace may have several, so that they are rotated with an overlap. The keys
-- that sign tokens are encrypted if the gateway has a credentials_key.
-- parent: 20261221_second_factors
-- loses: encrypted identity secrets and keys of tokens; each workspace gets a new identity secret, and all log in again
--
-- With the first key of tokens, secrets of webhooks and services that were set before credentials_key are lost, too.

CREATE TABLE IF NOT EXISTS identity_secrets (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  key_id text NOT NULL,
  ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) >= 28),
  created_at timestamptz NOT NULL DEFAULT now(),
  ends_at timestamptz,
  PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE identity_secrets IS
  'The host site signs its visitors'' identities with one of them (JWT, HS256): shown once, stored encrypted.';
COMMENT ON COLUMN identity_secrets.key_id IS 'Which key of the configuration encrypted it, so that keys can be changed.';
COMMENT ON COLUMN identity_secrets.ciphertext IS 'AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';
COMMENT ON COLUMN identity_secrets.ends_at IS 'From then on identities that it signed are refused. NULL: in use.';

ALTER TABLE workspaces ALTER COLUMN identity_secret SET DEFAULT '';
COMMENT ON COLUMN workspaces.identity_secret IS
  'A secret from before they were encrypted; a gateway that starts moves it into identity_secrets. Empty: none.';

-- An older gateway ignores an empty secret: it keeps the keys that it has read, and makes no tokens with a ciphertext.
ALTER TABLE signing_keys ADD COLUMN IF NOT EXISTS key_id text;
ALTER TABLE signing_keys ADD COLUMN IF NOT EXISTS ciphertext bytea;
ALTER TABLE signing_keys DROP CONSTRAINT IF EXISTS signing_keys_sealed;
ALTER TABLE signing_keys ADD CONSTRAINT signing_keys_sealed CHECK (
  (key_id IS NULL) = (ciphertext IS NULL) AND (key_id IS NULL OR secret = ''));
COMMENT ON COLUMN signing_keys.secret IS 'In clear, if the gateway has no credentials_key; empty: encrypted.';
COMMENT ON COLUMN signing_keys.key_id IS 'Which key of the setting credentials_key encrypted it. NULL: none.';
COMMENT ON COLUMN signing_keys.ciphertext IS 'AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('identity_secrets', NULL, NULL, 'INSERT, DELETE, UPDATE (ends_at)');
  GRANT UPDATE (identity_secret) ON workspaces TO chirrup_gateway;
  GRANT UPDATE (secret, key_id, ciphertext) ON signing_keys TO chirrup_gateway;
END
$$;

-- down

DELETE FROM signing_keys WHERE ciphertext IS NOT NULL;
ALTER TABLE signing_keys DROP COLUMN IF EXISTS key_id, DROP COLUMN IF EXISTS ciphertext;
COMMENT ON COLUMN signing_keys.secret IS NULL;
UPDATE workspaces SET identity_secret = 'is_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
WHERE identity_secret = '';
ALTER TABLE workspaces ALTER COLUMN identity_secret
  SET DEFAULT 'is_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
COMMENT ON COLUMN workspaces.identity_secret IS
  'The host site signs its visitors'' identities with it (JWT, HS256).';
DROP TABLE IF EXISTS identity_secrets;
DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  REVOKE UPDATE (identity_secret) ON workspaces FROM chirrup_gateway;
  REVOKE UPDATE (secret) ON signing_keys FROM chirrup_gateway;
END
$$;
