-- Closed conversations are counted when they close, and are found by the time of the close: an inbox with 100,000 of
-- them shows their number and a page of them without a scan.
-- parent: 20261123_create_queue
-- loses: nothing, it is counted again
--
-- The index has no column that a batch of messages changes, so their updates stay HOT. The count of a workspace has
-- several slots, so that simultaneous closes do not wait for each other.

CREATE INDEX IF NOT EXISTS chat_sessions_closed_at
  ON chat_sessions (workspace_id, (coalesce(closed_at, created_at)) DESC, id DESC)
  WHERE status = 'closed' AND deleted_at IS NULL;

-- step: the counts, in a moment in which nobody closes
-- locks: chat_sessions, workspaces

LOCK TABLE chat_sessions IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE IF NOT EXISTS closed_counts (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  slot smallint NOT NULL,
  closed bigint NOT NULL,
  PRIMARY KEY (workspace_id, slot)
) WITH (fillfactor = 50);
COMMENT ON TABLE closed_counts IS 'Closed conversations of a workspace: the sum of its slots, kept by triggers.';
COMMENT ON COLUMN closed_counts.slot IS 'Of the connection that counted; one of them alone may be negative.';

-- The deletion of a workspace deletes its counts, and creates no new ones.
CREATE OR REPLACE FUNCTION chirrup_count_closed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  INSERT INTO closed_counts AS c (workspace_id, slot, closed)
  SELECT w.id, pg_backend_pid() % 16,
    CASE WHEN NEW.status = 'closed' AND NEW.deleted_at IS NULL THEN 1 ELSE -1 END
  FROM workspaces w WHERE w.id = NEW.workspace_id
  ON CONFLICT (workspace_id, slot) DO UPDATE SET closed = c.closed + excluded.closed;
  RETURN NULL;
END
$f$;

CREATE OR REPLACE FUNCTION chirrup_count_closed_rows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $f$
BEGIN
  INSERT INTO closed_counts AS c (workspace_id, slot, closed)
  SELECT w.id, pg_backend_pid() % 16, CASE TG_OP WHEN 'INSERT' THEN n.closed ELSE -n.closed END
  FROM (
    SELECT workspace_id, count(*) AS closed FROM touched
    WHERE status = 'closed' AND deleted_at IS NULL GROUP BY workspace_id
  ) AS n JOIN workspaces w ON w.id = n.workspace_id ORDER BY w.id
  ON CONFLICT (workspace_id, slot) DO UPDATE SET closed = c.closed + excluded.closed;
  RETURN NULL;
END
$f$;

CREATE OR REPLACE TRIGGER chat_sessions_count_closed AFTER UPDATE OF status, deleted_at ON chat_sessions
  FOR EACH ROW WHEN ((OLD.status = 'closed' AND OLD.deleted_at IS NULL)
    IS DISTINCT FROM (NEW.status = 'closed' AND NEW.deleted_at IS NULL))
  EXECUTE FUNCTION chirrup_count_closed();
CREATE OR REPLACE TRIGGER chat_sessions_count_inserted AFTER INSERT ON chat_sessions
  REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION chirrup_count_closed_rows();
CREATE OR REPLACE TRIGGER chat_sessions_count_deleted AFTER DELETE ON chat_sessions
  REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION chirrup_count_closed_rows();

DELETE FROM closed_counts;
INSERT INTO closed_counts (workspace_id, slot, closed)
SELECT workspace_id, 0, count(*) FROM chat_sessions
WHERE status = 'closed' AND deleted_at IS NULL GROUP BY workspace_id;

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    GRANT SELECT ON closed_counts, session_tags TO chirrup_reader;
  END IF;
END
$$;

-- down
-- locks: chats, chat_sessions, workspaces IN ACCESS EXCLUSIVE MODE

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN REVOKE ALL ON session_tags FROM chirrup_reader; END IF;
END
$$;
DROP TRIGGER IF EXISTS chat_sessions_count_closed ON chat_sessions;
DROP TRIGGER IF EXISTS chat_sessions_count_inserted ON chat_sessions;
DROP TRIGGER IF EXISTS chat_sessions_count_deleted ON chat_sessions;
DROP FUNCTION IF EXISTS chirrup_count_closed();
DROP FUNCTION IF EXISTS chirrup_count_closed_rows();
DROP TABLE IF EXISTS closed_counts;
DROP INDEX IF EXISTS chat_sessions_closed_at;
