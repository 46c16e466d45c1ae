-- Records about conversations: contacts' follow events, figures, ratings, tags, the audit log and webhooks.
-- parent: 20261122_create_settings
-- locks: chat_sessions, workspaces
-- loses: follow events, analytics, ratings, tags, the audit log, webhooks and their undelivered events

CREATE TABLE IF NOT EXISTS friend_events (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  visitor_id uuid NOT NULL REFERENCES visitors (id) ON DELETE CASCADE,
  channel text NOT NULL CHECK (channel ~ '^[a-z][a-z0-9_-]{0,31}$'),
  event text NOT NULL CHECK (event IN ('follow', 'unfollow', 'block', 'unblock', 'refollow')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE friend_events IS 'When a contact followed, left, blocked or came back, per channel.';
CREATE INDEX IF NOT EXISTS friend_events_visitor_id ON friend_events (visitor_id, created_at);

CREATE TABLE IF NOT EXISTS chat_analytics (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  day date NOT NULL,
  operator_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  sessions integer NOT NULL DEFAULT 0 CHECK (sessions >= 0),
  messages integer NOT NULL DEFAULT 0 CHECK (messages >= 0),
  first_response_p50_ms bigint CHECK (first_response_p50_ms >= 0),
  first_response_p90_ms bigint CHECK (first_response_p90_ms >= first_response_p50_ms),
  resolution_p50_ms bigint CHECK (resolution_p50_ms >= 0),
  resolution_p90_ms bigint CHECK (resolution_p90_ms >= resolution_p50_ms),
  csat_count integer NOT NULL DEFAULT 0 CHECK (csat_count >= 0),
  csat_sum integer NOT NULL DEFAULT 0 CHECK (csat_sum BETWEEN csat_count AND 5 * csat_count),
  computed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, day, operator_id)
);
COMMENT ON TABLE chat_analytics IS 'Figures of a day, counted once and kept when the messages are gone.';
COMMENT ON COLUMN chat_analytics.day IS 'In the time zone of the workspace.';
COMMENT ON COLUMN chat_analytics.operator_id IS 'All zeros: the whole workspace. Kept when the operator leaves.';
COMMENT ON COLUMN chat_analytics.first_response_p50_ms IS 'Half of the sessions were answered within this time.';
COMMENT ON COLUMN chat_analytics.csat_sum IS 'Of ratings from 1 to 5; the mean is this divided by csat_count.';

CREATE TABLE IF NOT EXISTS csat_responses (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  visitor_id uuid REFERENCES visitors (id) ON DELETE SET NULL,
  operator_id uuid REFERENCES operators (id) ON DELETE SET NULL,
  rating smallint NOT NULL CHECK (rating BETWEEN 1 AND 5),
  comment text CHECK (length(comment) <= 2000),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, session_id),
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE csat_responses IS 'How a visitor rated a conversation: one rating each, the last one counts.';
CREATE INDEX IF NOT EXISTS csat_responses_created_at ON csat_responses (workspace_id, created_at);

CREATE TABLE IF NOT EXISTS tags (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 50 AND name = btrim(name)),
  colour text CHECK (colour ~ '^#[0-9a-f]{6}$'),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, name)
);
COMMENT ON TABLE tags IS 'The words by which a workspace sorts its conversations.';
CREATE TABLE IF NOT EXISTS session_tags (
  workspace_id uuid NOT NULL,
  session_id uuid NOT NULL,
  tag text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, session_id, tag),
  FOREIGN KEY (workspace_id, session_id) REFERENCES chat_sessions (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, tag) REFERENCES tags (workspace_id, name) ON UPDATE CASCADE ON DELETE CASCADE
);
COMMENT ON TABLE session_tags IS 'Which conversation has which tags.';
CREATE INDEX IF NOT EXISTS session_tags_tag ON session_tags (workspace_id, tag);

CREATE TABLE IF NOT EXISTS audit_log (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id bigint GENERATED ALWAYS AS IDENTITY,
  actor_id uuid,
  actor text NOT NULL CHECK (actor IN ('operator', 'api_key', 'command', 'rule')),
  action text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
  target_id uuid,
  details jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(details) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE audit_log IS 'Who did what that cannot be undone or must be accounted for; ids and counts, no contents.';
COMMENT ON COLUMN audit_log.actor_id IS 'The operator or API key; NULL for the command line and for rules.';
COMMENT ON COLUMN audit_log.action IS 'What was done: visitor.erased, sessions.expired, …';
COMMENT ON COLUMN audit_log.target_id IS 'To whom or what.';
CREATE INDEX IF NOT EXISTS audit_log_created_at ON audit_log (created_at);

CREATE TABLE IF NOT EXISTS webhooks (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  url text NOT NULL CHECK (url ~ '^https?://' AND length(url) <= 2048),
  events text[] NOT NULL DEFAULT '{}' CHECK (cardinality(events) <= 32),
  secret_ciphertext bytea NOT NULL CHECK (octet_length(secret_ciphertext) >= 28),
  secret_key_id text NOT NULL,
  is_enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE webhooks IS 'Addresses of other systems that are told what happens.';
COMMENT ON COLUMN webhooks.events IS 'Which events; empty: all.';
COMMENT ON COLUMN webhooks.secret_ciphertext IS 'Signs the deliveries; encrypted like credentials.';
COMMENT ON COLUMN webhooks.secret_key_id IS 'Which key of the configuration encrypted it.';

CREATE TABLE IF NOT EXISTS webhook_deliveries (
  workspace_id uuid NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  webhook_id uuid NOT NULL,
  event text NOT NULL,
  payload jsonb NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  next_attempt_at timestamptz DEFAULT now(),
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  delivered_at timestamptz,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, webhook_id) REFERENCES webhooks (workspace_id, id) ON DELETE CASCADE,
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
  CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
);
COMMENT ON TABLE webhook_deliveries IS 'The outbox: written with what happened, delivered afterwards, at least once.';
COMMENT ON COLUMN webhook_deliveries.next_attempt_at IS 'NULL when nothing more is tried.';
CREATE INDEX IF NOT EXISTS webhook_deliveries_due ON webhook_deliveries (next_attempt_at)
  WHERE status = 'pending';

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DROP TABLE IF EXISTS webhook_deliveries, webhooks, audit_log, session_tags, tags, csat_responses, chat_analytics,
  friend_events;
