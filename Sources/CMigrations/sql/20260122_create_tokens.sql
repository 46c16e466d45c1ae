-- Credentials: visitors' refresh secrets, operators' cookies, and the keys that sign tokens.
-- parent: 20260121_create_read_marks
-- locks: chat_sessions, workspaces
-- loses: every login, and every visitor's access to the own conversation

CREATE TABLE IF NOT EXISTS refresh_tokens (
  token_hash bytea PRIMARY KEY,
  family uuid NOT NULL,
  visitor_id uuid NOT NULL REFERENCES visitors (id) ON DELETE CASCADE,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  session_id uuid NOT NULL REFERENCES chat_sessions (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  rotated_at timestamptz,
  revoked_at timestamptz,
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE refresh_tokens IS 'Visitors'' refresh secrets, hashed; each use replaces one by the next of its family.';
COMMENT ON COLUMN refresh_tokens.rotated_at IS 'When it was replaced; used again much later, the family is revoked.';
CREATE INDEX IF NOT EXISTS refresh_tokens_family ON refresh_tokens (family);
CREATE INDEX IF NOT EXISTS refresh_tokens_expires_at ON refresh_tokens (expires_at);

CREATE TABLE IF NOT EXISTS operator_sessions (
  token_hash bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE operator_sessions IS 'The console''s cookies, hashed.';
CREATE INDEX IF NOT EXISTS operator_sessions_operator_id ON operator_sessions (operator_id);

CREATE TABLE IF NOT EXISTS signing_keys (
  id text PRIMARY KEY,
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE signing_keys IS 'Keys of the gateway''s own tokens (HS256); the newest signs, all verify.';

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DROP TABLE IF EXISTS signing_keys, operator_sessions, refresh_tokens;
