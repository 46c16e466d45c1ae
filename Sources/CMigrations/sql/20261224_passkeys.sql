-- Operators can log in with passkeys (WebAuthn), instead of a password or after it.
-- parent: 20261222_seal_secrets
-- loses: the passkeys; their operators log in with the password, and a code if they have an app

CREATE TABLE IF NOT EXISTS passkeys (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  relying_party text NOT NULL,
  credential_id bytea NOT NULL,
  public_key bytea NOT NULL,
  algorithm integer NOT NULL CHECK (algorithm IN (-7, -257)),
  sign_count bigint NOT NULL,
  is_synced boolean NOT NULL,
  transports text NOT NULL DEFAULT '',
  name text NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS passkeys_credential ON passkeys (credential_id, relying_party);
CREATE INDEX IF NOT EXISTS passkeys_operator ON passkeys (operator_id);
COMMENT ON TABLE passkeys IS 'Operators'' passkeys (WebAuthn); only their public keys.';
COMMENT ON COLUMN passkeys.relying_party IS 'The host name for which the passkey was made. Browsers offer it on no other.';
COMMENT ON COLUMN passkeys.public_key IS 'SubjectPublicKeyInfo in DER (RFC 5280).';
COMMENT ON COLUMN passkeys.algorithm IS 'Of COSE (RFC 9053): -7 is ES256, -257 RS256.';
COMMENT ON COLUMN passkeys.sign_count IS 'Of the last signature; 0: the authenticator does not count.';
COMMENT ON COLUMN passkeys.is_synced IS 'Whether the authenticator says that the key is backed up, and so on several devices.';
COMMENT ON COLUMN passkeys.transports IS 'How browsers reach the authenticator, space-separated.';

CREATE TABLE IF NOT EXISTS used_challenges (
  digest bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS used_challenges_expiry ON used_challenges (expires_at);
COMMENT ON TABLE used_challenges IS 'Challenges of logins that succeeded, until they expire: none is accepted twice.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('passkeys', NULL, NULL, 'INSERT, DELETE, UPDATE (sign_count, is_synced, last_used_at)');
  PERFORM chirrup_secure('used_challenges', NULL, NULL, 'INSERT, DELETE, UPDATE (expires_at)');
END
$$;

-- down

DROP TABLE IF EXISTS used_challenges, passkeys;
