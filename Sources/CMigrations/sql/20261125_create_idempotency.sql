-- The responses to writes with an Idempotency-Key, for a day, so that a repetition gets the same response; and tags
-- for the readers of the REST API.
-- parent: 20261127_count_closed
-- loses: the stored responses, so that a repeated write runs again

CREATE TABLE IF NOT EXISTS idempotency_keys (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  caller_id uuid NOT NULL,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
  status smallint CHECK (status BETWEEN 200 AND 599),
  content_type text,
  key_id text,
  body bytea CHECK (octet_length(body) <= 131072),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, caller_id, key),
  CHECK ((status IS NULL) = (body IS NULL))
);
COMMENT ON TABLE idempotency_keys IS 'What a write was answered, by the key that its caller gave it.';
COMMENT ON COLUMN idempotency_keys.request_hash IS 'SHA-256 of method, path, query and body: another request is refused.';
COMMENT ON COLUMN idempotency_keys.body IS 'Encrypted like credentials: an answer may hold a key that is shown once.';
COMMENT ON COLUMN idempotency_keys.status IS 'NULL while the request runs.';
CREATE INDEX IF NOT EXISTS idempotency_keys_created_at ON idempotency_keys (created_at);

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    GRANT SELECT ON session_tags TO chirrup_reader;
  END IF;
END
$$;

-- down

DROP TABLE IF EXISTS idempotency_keys;
DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    REVOKE ALL ON session_tags FROM chirrup_reader;
  END IF;
END
$$;
