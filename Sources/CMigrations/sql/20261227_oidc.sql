-- Operators can sign in with the identity provider of their workspace (OpenID Connect).
-- parent: 20261226_constant_checks
-- loses: the providers and who was linked to them; members without a password cannot log in until they get one

CREATE TABLE IF NOT EXISTS identity_providers (
  workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
  is_enabled boolean NOT NULL,
  label text NOT NULL,
  issuer text NOT NULL,
  client_id text NOT NULL,
  key_id text NOT NULL,
  ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) >= 28),
  scopes text NOT NULL,
  groups_claim text NOT NULL,
  group_roles jsonb NOT NULL CHECK (jsonb_typeof(group_roles) = 'array'),
  default_role text CHECK (default_role IN ('owner', 'admin', 'agent')),
  creates_members boolean NOT NULL,
  takes_roles_back boolean NOT NULL,
  allows_passwords boolean NOT NULL,
  trusts_second_factor boolean NOT NULL,
  required_acr text,
  required_amr text,
  updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE identity_providers IS 'With which provider (OpenID Connect) the members of a workspace sign in.';
COMMENT ON COLUMN identity_providers.key_id IS 'Which key of the configuration encrypted the client''s secret.';
COMMENT ON COLUMN identity_providers.ciphertext IS 'AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';
COMMENT ON COLUMN identity_providers.group_roles IS 'Objects with group and role; the highest role counts.';
COMMENT ON COLUMN identity_providers.default_role IS 'Of people in none of the groups. NULL: they have none.';
COMMENT ON COLUMN identity_providers.takes_roles_back IS
  'Whether a sign-in lowers a role above that of the groups; else it only raises it.';
COMMENT ON COLUMN identity_providers.allows_passwords IS
  'Whether members log in with a password or a passkey too. Owners always can.';
COMMENT ON COLUMN identity_providers.trusts_second_factor IS 'Whether no second factor of ours follows.';

CREATE TABLE IF NOT EXISTS operator_identities (
  workspace_id uuid NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  operator_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (workspace_id, issuer, subject),
  UNIQUE (workspace_id, operator_id, issuer),
  FOREIGN KEY (workspace_id, operator_id) REFERENCES memberships (workspace_id, operator_id) ON DELETE CASCADE
);
COMMENT ON TABLE operator_identities IS
  'Which member somebody of a provider is. In one workspace only: the owners of another choose their own providers.';
COMMENT ON COLUMN operator_identities.subject IS 'The claim sub: the provider''s id of the person, which it gives to nobody else.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('identity_providers', NULL, NULL, 'INSERT, DELETE, UPDATE');
  PERFORM chirrup_secure('operator_identities', NULL, NULL, 'INSERT, DELETE, UPDATE (last_used_at)');
END
$$;

-- down

DROP TABLE IF EXISTS operator_identities, identity_providers;
