-- The last message of each conversation that bots have processed.
-- parent: 20261124_count_analytics
-- loses: the handovers by bots, and the positions up to which bots have processed messages

CREATE TABLE IF NOT EXISTS bot_progress (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  answered_seq bigint NOT NULL DEFAULT 0,
  handed_over_at timestamptz,
  PRIMARY KEY (workspace_id, session_id),
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE bot_progress IS 'Conversations that bots have looked at; nothing is kept of the others.';
COMMENT ON COLUMN bot_progress.answered_seq IS 'Visitors'' messages up to this one were answered, or needed no answer.';
COMMENT ON COLUMN bot_progress.handed_over_at IS 'Since then it is for people only.';

-- down

DROP TABLE IF EXISTS bot_progress;
