-- Assist: which endpoint (OpenAI-compatible) drafts replies, summaries and translations for the operators of a
-- workspace, and the tokens that this has cost.
-- parent: 20270330_rules_by_column
-- compatible: 20261229_gateways
-- loses: the endpoints with their keys, and what was counted

CREATE TABLE IF NOT EXISTS assist_settings (
  workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
  is_enabled boolean NOT NULL,
  uses text[] NOT NULL CHECK (uses <@ ARRAY['suggest', 'summary', 'translate']),
  endpoint text NOT NULL,
  model text NOT NULL,
  key_id text,
  ciphertext bytea CHECK (octet_length(ciphertext) >= 28),
  token_limit text NOT NULL CHECK (token_limit IN ('max_tokens', 'max_completion_tokens')),
  tokens_per_day bigint NOT NULL CHECK (tokens_per_day > 0),
  tokens_per_month bigint NOT NULL CHECK (tokens_per_month > 0),
  timeout_seconds integer NOT NULL CHECK (timeout_seconds > 0),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((key_id IS NULL) = (ciphertext IS NULL))
);
COMMENT ON TABLE assist_settings IS
  'The endpoint that writes drafts for the operators of a workspace. No row, or not enabled: nothing is sent.';
COMMENT ON COLUMN assist_settings.key_id IS 'Which key of the configuration encrypted the API key. NULL: there is none.';
COMMENT ON COLUMN assist_settings.ciphertext IS 'AES-256-GCM: nonce of 12 bytes, ciphertext, tag of 16 bytes.';
COMMENT ON COLUMN assist_settings.token_limit IS 'The member of a request that limits the tokens of its answer.';

CREATE TABLE IF NOT EXISTS assist_usage (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  day date NOT NULL,
  requests bigint NOT NULL,
  tokens bigint NOT NULL,
  PRIMARY KEY (workspace_id, day)
) WITH (fillfactor = 70);
COMMENT ON TABLE assist_usage IS 'The requests to the endpoint and their tokens, by day in UTC.';
COMMENT ON COLUMN assist_usage.tokens IS 'Those of running requests are reserved: the most that they can cost.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('assist_settings', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('assist_usage', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down

DROP TABLE IF EXISTS assist_usage, assist_settings;
