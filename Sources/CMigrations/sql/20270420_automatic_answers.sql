-- Assist may answer visitors while no operator is available, if the workspace turns that on.
-- parent: 20270410_merged_visitors
-- compatible: 20261229_gateways
-- locks: assist_settings IN ACCESS EXCLUSIVE MODE
-- loses: the settings of automatic answers, and which messages were answered

ALTER TABLE assist_settings
  ADD COLUMN IF NOT EXISTS automatic text NOT NULL DEFAULT 'off'
    CHECK (automatic IN ('off', 'replies', 'conversations')),
  ADD COLUMN IF NOT EXISTS automatic_notice text NOT NULL
    DEFAULT 'This is an automatic answer. A colleague reads your message later.' CHECK (automatic_notice <> '');
COMMENT ON COLUMN assist_settings.automatic IS
  'On what automatic answers are based: canned replies, or closed conversations too. off: there are none.';
COMMENT ON COLUMN assist_settings.automatic_notice IS 'The last lines of each automatic answer.';

-- step: the requests of automatic answers
-- locks: chat_sessions, workspaces

CREATE TABLE IF NOT EXISTS assist_answers (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  message_id uuid NOT NULL,
  seq bigint NOT NULL,
  requests integer NOT NULL DEFAULT 1,
  asked_at timestamptz NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz,
  PRIMARY KEY (workspace_id, session_id),
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS assist_answers_due ON assist_answers (due_at) WHERE due_at IS NOT NULL;
COMMENT ON TABLE assist_answers IS 'The last message of a visitor for which an automatic answer was requested, by conversation.';
COMMENT ON COLUMN assist_answers.requests IS 'The messages of this conversation for which one was requested.';
COMMENT ON COLUMN assist_answers.due_at IS
  'When a gateway may begin; while one works, when another one may take over. NULL: sent, or given up.';

CREATE TABLE IF NOT EXISTS assist_answer_hours (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (workspace_id, hour)
) WITH (fillfactor = 70);
COMMENT ON TABLE assist_answer_hours IS 'The automatic answers that were requested, by hour. Older hours are deleted.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('assist_answers', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('assist_answer_hours', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down
-- locks: chat_sessions, workspaces, assist_settings IN ACCESS EXCLUSIVE MODE

DROP TABLE IF EXISTS assist_answer_hours, assist_answers;
ALTER TABLE assist_settings DROP COLUMN IF EXISTS automatic_notice, DROP COLUMN IF EXISTS automatic;
