-- Who is on the site now, and messages that the widget shows by itself.
-- parent: 20270311_targets
-- compatible: 20261229_gateways
-- loses: the visitors of this moment, the links of browsers to visitors, and the proactive messages with what was shown
--
-- The gateways write the visitors of this moment in batches. They are worth nothing after a crash, so their table is not
-- logged: it costs no WAL.

CREATE UNLOGGED TABLE IF NOT EXISTS watched_visitors (
  workspace_id uuid NOT NULL,
  watcher uuid NOT NULL,
  gateway_id uuid NOT NULL,
  secret_hash bytea NOT NULL,
  state text NOT NULL CHECK (state IN ('here', 'away')),
  visit jsonb NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, watcher, gateway_id)
);
CREATE INDEX IF NOT EXISTS watched_visitors_gateway ON watched_visitors (gateway_id);
COMMENT ON TABLE watched_visitors IS 'Browsers that have a page of a site open now.';
COMMENT ON COLUMN watched_visitors.watcher IS 'Of the browser: from the SHA-256 of the secret that it keeps.';
COMMENT ON COLUMN watched_visitors.gateway_id IS 'The gateway that receives its beacons; without it the row counts no more.';
COMMENT ON COLUMN watched_visitors.secret_hash IS
  'The hash of its secret. If an operator begins a conversation, it becomes the browser''s first refresh token.';
COMMENT ON COLUMN watched_visitors.visit IS 'Page, trail, source, country: what the browser and its proxy have sent.';

CREATE UNLOGGED TABLE IF NOT EXISTS visitor_invitations (
  workspace_id uuid NOT NULL,
  watcher uuid NOT NULL,
  session_id uuid NOT NULL,
  sender_name text NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, watcher)
);
CREATE INDEX IF NOT EXISTS visitor_invitations_time ON visitor_invitations (created_at);
COMMENT ON TABLE visitor_invitations IS
  'Conversations that operators have begun with a browser that has no connection: its next beacon is answered with them.';

CREATE TABLE IF NOT EXISTS watchers (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  watcher uuid NOT NULL,
  visitor_id uuid REFERENCES visitors (id) ON DELETE CASCADE,
  PRIMARY KEY (workspace_id, watcher)
);
CREATE INDEX IF NOT EXISTS watchers_visitor ON watchers (visitor_id);
COMMENT ON TABLE watchers IS
  'Browsers that are remembered after a visit: those of a visitor, and those that have shown a proactive message.';
COMMENT ON COLUMN watchers.visitor_id IS 'As a request with both secrets has proved it; null: nobody has written.';

CREATE TABLE IF NOT EXISTS proactive_messages (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  name text NOT NULL,
  body text NOT NULL,
  sender_name text,
  conditions jsonb NOT NULL DEFAULT '{}',
  is_enabled boolean NOT NULL DEFAULT false,
  shown bigint NOT NULL DEFAULT 0,
  answered bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE proactive_messages IS 'Messages that the widget shows by itself when their conditions are met.';
COMMENT ON COLUMN proactive_messages.shown IS 'How often browsers say that they have shown it.';
COMMENT ON COLUMN proactive_messages.answered IS 'The conversations that began with it.';

CREATE TABLE IF NOT EXISTS proactive_showings (
  workspace_id uuid NOT NULL,
  message_id uuid NOT NULL,
  watcher uuid NOT NULL,
  shown_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, message_id, watcher),
  FOREIGN KEY (workspace_id, message_id) REFERENCES proactive_messages ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, watcher) REFERENCES watchers ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS proactive_showings_watcher ON proactive_showings (workspace_id, watcher);
CREATE INDEX IF NOT EXISTS proactive_showings_time ON proactive_showings (shown_at);
COMMENT ON TABLE proactive_showings IS 'Which browser has shown which message: a visitor sees it once.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('watched_visitors', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('visitor_invitations', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('watchers', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('proactive_messages', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('proactive_showings', NULL, NULL, 'INSERT, DELETE');
END
$$;

-- down

DROP TABLE IF EXISTS watched_visitors, visitor_invitations, proactive_showings, watchers, proactive_messages;
