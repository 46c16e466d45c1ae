-- expect: chat_sessions.status
-- Hand-made sessions with own words for their status.
CREATE TABLE chat_sessions (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'snoozed', 'done'))
);
INSERT INTO chat_sessions (workspace_id, status) SELECT id, 'done' FROM workspaces LIMIT 3;
