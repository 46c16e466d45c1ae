-- Files that visitors and operators send: their rows. The bytes are in the gateway's storage.
-- parent: 20270420_push_texts
-- compatible: 20261229_gateways
-- loses: which files belong to which messages; their bytes stay in the storage
--
-- There is no foreign key to conversations: a row must outlive its conversation until its bytes are removed. So nothing
-- here locks tables of the chat.

CREATE TABLE IF NOT EXISTS chat_attachments (
  workspace_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  uploader_id uuid NOT NULL,
  is_of_visitor boolean NOT NULL,
  state text NOT NULL DEFAULT 'uploading' CHECK (state IN ('uploading', 'stored', 'bound', 'removed')),
  name text NOT NULL,
  bytes bigint NOT NULL CHECK (bytes > 0),
  type text,
  alt text,
  width integer,
  height integer,
  has_thumbnail boolean NOT NULL DEFAULT false,
  message_id uuid,
  is_settled boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  stored_at timestamptz,
  bound_at timestamptz,
  removed_at timestamptz,
  PRIMARY KEY (workspace_id, id),
  CHECK ((state = 'removed') = (removed_at IS NOT NULL)),
  CHECK (state <> 'bound' OR message_id IS NOT NULL AND type IS NOT NULL)
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS chat_attachments_of_session ON chat_attachments (workspace_id, session_id);
CREATE INDEX IF NOT EXISTS chat_attachments_unsent ON chat_attachments (workspace_id, uploader_id)
  WHERE state IN ('uploading', 'stored');
CREATE INDEX IF NOT EXISTS chat_attachments_expiring ON chat_attachments ((coalesce(stored_at, created_at)))
  WHERE state IN ('uploading', 'stored');
CREATE INDEX IF NOT EXISTS chat_attachments_unsettled ON chat_attachments (bound_at)
  WHERE state = 'bound' AND NOT is_settled;
CREATE INDEX IF NOT EXISTS chat_attachments_removed ON chat_attachments (removed_at)
  WHERE state = 'removed';
COMMENT ON TABLE chat_attachments IS 'Uploaded files. Their bytes are in the storage of the gateway, under workspace and id.';
COMMENT ON COLUMN chat_attachments.session_id IS 'The conversation. The row stays without it until its bytes are removed.';
COMMENT ON COLUMN chat_attachments.uploader_id IS 'The visitor, operator or API key.';
COMMENT ON COLUMN chat_attachments.state IS
  'uploading: parts come; stored: the bytes are safe; bound: in a message; removed: its bytes go.';
COMMENT ON COLUMN chat_attachments.bytes IS 'Of the whole file. They count for the workspace from the upload''s begin.';
COMMENT ON COLUMN chat_attachments.type IS 'The media type as judged by the content; NULL until then.';
COMMENT ON COLUMN chat_attachments.alt IS 'The description of an image for people who do not see it.';
COMMENT ON COLUMN chat_attachments.is_settled IS 'Whether it was checked that the message was committed.';

CREATE TABLE IF NOT EXISTS chat_attachment_totals (
  workspace_id uuid PRIMARY KEY,
  bytes bigint NOT NULL DEFAULT 0,
  running bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
COMMENT ON TABLE chat_attachment_totals IS
  'What the attachments of a workspace use, counted by a trigger. Its row is locked before an upload begins.';
COMMENT ON COLUMN chat_attachment_totals.running IS 'Uploads that are not complete.';

CREATE OR REPLACE FUNCTION chirrup_count_attachment() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $f$
DECLARE
  more bigint := 0;
  begun bigint := 0;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    more := more - CASE WHEN OLD.state = 'removed' THEN 0 ELSE OLD.bytes END;
    begun := begun - (OLD.state = 'uploading')::int;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    more := more + CASE WHEN NEW.state = 'removed' THEN 0 ELSE NEW.bytes END;
    begun := begun + (NEW.state = 'uploading')::int;
  END IF;
  IF more <> 0 OR begun <> 0 THEN
    INSERT INTO chat_attachment_totals AS t (workspace_id, bytes, running)
    VALUES (CASE TG_OP WHEN 'DELETE' THEN OLD.workspace_id ELSE NEW.workspace_id END, more, begun)
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = t.bytes + excluded.bytes, running = t.running + excluded.running;
  END IF;
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_count_attachment() IS 'Counts bytes and running uploads of a workspace.';
CREATE OR REPLACE TRIGGER chat_attachments_counted AFTER INSERT OR DELETE OR UPDATE OF state, bytes ON chat_attachments
  FOR EACH ROW EXECUTE FUNCTION chirrup_count_attachment();

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('chat_attachments', NULL, NULL, 'INSERT, UPDATE, DELETE');
  PERFORM chirrup_secure('chat_attachment_totals', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down

DROP TABLE IF EXISTS chat_attachments, chat_attachment_totals;
DROP FUNCTION IF EXISTS chirrup_count_attachment();
