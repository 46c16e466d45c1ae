-- Messages whose content PostgreSQL refused, with the reason. An administrator can read and release them.
-- parent: 20261122_create_database_epoch
-- loses: the messages in quarantine
--
-- Texts are stored as bytes, since they may be refused as invalid text. There is no foreign key to the session, since
-- its deletion may be the reason.

CREATE TABLE IF NOT EXISTS quarantine (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  message_id uuid NOT NULL,
  session_id uuid NOT NULL,
  role text NOT NULL,
  kind text NOT NULL,
  sender_id uuid,
  sender_name bytea NOT NULL DEFAULT '',
  body bytea NOT NULL DEFAULT '',
  payload bytea NOT NULL DEFAULT '',
  sqlstate text NOT NULL CHECK (sqlstate ~ '^[0-9A-Z]{5}$'),
  reason text NOT NULL,
  refusals bigint NOT NULL DEFAULT 1 CHECK (refusals > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  refused_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, message_id)
);
COMMENT ON TABLE quarantine IS
  'Messages that PostgreSQL refused: chirrup quarantine. At most 1,000 for a workspace, for 30 days.';
COMMENT ON COLUMN quarantine.message_id IS 'The id that its sender gave it.';
COMMENT ON COLUMN quarantine.payload IS 'JSON text as it came; empty: none.';
COMMENT ON COLUMN quarantine.sqlstate IS 'PostgreSQL''s name of the error (manual, appendix A).';
COMMENT ON COLUMN quarantine.reason IS 'What PostgreSQL said, at most 500 bytes.';
COMMENT ON COLUMN quarantine.refusals IS 'How often it came and was refused.';
COMMENT ON COLUMN quarantine.refused_at IS 'When it was refused last.';
CREATE INDEX IF NOT EXISTS quarantine_refused_at ON quarantine (refused_at);

-- down

DROP TABLE IF EXISTS quarantine;
