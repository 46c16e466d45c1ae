-- Menus on LINE: the picture of a menu, and which workspace's copy at LINE is to be brought up to date.
-- parent: 20270503_channels
-- compatible: 20261229_gateways
-- locks: workspaces, credentials, rich_menus IN ACCESS EXCLUSIVE MODE
-- loses: the addresses of menus' pictures, and which menus LINE has to be told about
--
-- Triggers note what is to be done, so that it is in the transaction of the change, whoever makes it. The worker writes
-- sync_status and sync_error only, which wake no trigger. All take the rows of rich_menus before those of channel_menus.

ALTER TABLE rich_menus ADD COLUMN IF NOT EXISTS image_url text NOT NULL DEFAULT '' CHECK (length(image_url) <= 4096);
COMMENT ON COLUMN rich_menus.image_url IS 'The picture that LINE shows, fetched from there; empty: none.';

CREATE TABLE IF NOT EXISTS channel_menus (
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  channel text NOT NULL CHECK (channel ~ '^[a-z][a-z0-9_-]{0,31}$'),
  version bigint NOT NULL DEFAULT 1,
  due_at timestamptz,
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, channel)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS channel_menus_due ON channel_menus (due_at) WHERE due_at IS NOT NULL;
COMMENT ON TABLE channel_menus IS 'Whether a platform''s copy of the published menu is to be brought up to date.';
COMMENT ON COLUMN channel_menus.version IS 'Grows with each change of what the platform has to show.';
COMMENT ON COLUMN channel_menus.due_at IS
  'When to do it; while a gateway does it, when another one may take over. NULL: it is up to date, or refused.';

CREATE OR REPLACE FUNCTION chirrup_menu_due(place uuid) RETURNS void LANGUAGE sql
SET search_path FROM CURRENT AS $f$
  INSERT INTO channel_menus AS c (workspace_id, channel, due_at)
  SELECT id, 'line', now() FROM workspaces WHERE id = place
  ON CONFLICT (workspace_id, channel) DO UPDATE SET version = c.version + 1, attempts = 0,
    -- A gateway that is at it finds the new version at its end.
    due_at = CASE WHEN c.lease IS NULL THEN now() ELSE c.due_at END
$f$;
COMMENT ON FUNCTION chirrup_menu_due(uuid) IS 'Notes that LINE''s copy of a workspace''s menu is out of date.';

CREATE OR REPLACE FUNCTION chirrup_note_menu() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $f$
DECLARE
  place uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.workspace_id ELSE NEW.workspace_id END;
  was boolean := TG_OP <> 'INSERT' AND OLD.status = 'published';
  is_now boolean := TG_OP <> 'DELETE' AND NEW.status = 'published';
BEGIN
  IF (was OR is_now)
    AND (TG_OP <> 'UPDATE' OR (OLD.name, OLD.actions, OLD.status, OLD.image_url)
      IS DISTINCT FROM (NEW.name, NEW.actions, NEW.status, NEW.image_url))
    AND EXISTS (SELECT FROM credentials WHERE workspace_id = place AND provider = 'line'
      AND name = 'channel_access_token')
  THEN
    -- A withdrawn menu is pending until LINE shows it no longer.
    IF TG_OP <> 'DELETE' THEN
      NEW.sync_status := 'pending';
      NEW.sync_error := NULL;
    END IF;
    PERFORM chirrup_menu_due(place);
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$f$;
COMMENT ON FUNCTION chirrup_note_menu() IS 'Makes a menu that LINE has to show, or no longer, pending.';
CREATE OR REPLACE TRIGGER rich_menus_noted
  BEFORE INSERT OR DELETE OR UPDATE OF name, actions, status, image_url ON rich_menus
  FOR EACH ROW EXECUTE FUNCTION chirrup_note_menu();

CREATE OR REPLACE FUNCTION chirrup_note_menu_credential() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $f$
DECLARE
  place uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.workspace_id ELSE NEW.workspace_id END;
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.provider <> 'line' OR OLD.name <> 'channel_access_token' THEN RETURN NULL; END IF;
    UPDATE rich_menus SET sync_status = 'none', sync_error = NULL
    WHERE workspace_id = place AND sync_status <> 'none';
    DELETE FROM channel_menus WHERE workspace_id = place AND channel = 'line';
    RETURN NULL;
  END IF;
  IF NEW.provider <> 'line' OR NEW.name <> 'channel_access_token' THEN RETURN NULL; END IF;
  UPDATE rich_menus SET sync_status = 'pending', sync_error = NULL
  WHERE workspace_id = place AND (status = 'published' OR sync_status <> 'none');
  IF FOUND THEN PERFORM chirrup_menu_due(place); END IF;
  RETURN NULL;
END
$f$;
COMMENT ON FUNCTION chirrup_note_menu_credential() IS 'Makes the published menu pending when LINE''s token changes.';
CREATE OR REPLACE TRIGGER credentials_menus AFTER INSERT OR DELETE OR UPDATE OF ciphertext ON credentials
  FOR EACH ROW EXECUTE FUNCTION chirrup_note_menu_credential();

-- Workspaces with LINE that have published a menu before.
UPDATE rich_menus m SET sync_status = 'pending', sync_error = NULL
WHERE status = 'published' AND EXISTS (SELECT FROM credentials c WHERE c.workspace_id = m.workspace_id
  AND c.provider = 'line' AND c.name = 'channel_access_token');
SELECT chirrup_menu_due(workspace_id) FROM rich_menus WHERE sync_status = 'pending';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('channel_menus', NULL, NULL, 'INSERT, UPDATE, DELETE');
END
$$;

-- down
-- locks: workspaces, credentials, rich_menus IN ACCESS EXCLUSIVE MODE

DROP TRIGGER IF EXISTS credentials_menus ON credentials;
DROP TRIGGER IF EXISTS rich_menus_noted ON rich_menus;
DROP FUNCTION IF EXISTS chirrup_note_menu_credential();
DROP FUNCTION IF EXISTS chirrup_note_menu();
DROP FUNCTION IF EXISTS chirrup_menu_due(uuid);
DROP TABLE IF EXISTS channel_menus;
UPDATE rich_menus SET sync_status = 'none', sync_error = NULL WHERE sync_status <> 'none';
ALTER TABLE rich_menus DROP COLUMN IF EXISTS image_url;
