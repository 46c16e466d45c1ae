-- An application that writes beside the gateway may write into a visitor's new conversation: it stays open, and enters
-- the queue as with a message of the gateway's.
-- parent: 20261215_normalise_addresses
-- loses: nothing
--
-- Only a session of the application's own, of which the gateway knows no visitor, begins closed.

DO $$
BEGIN
  IF to_regprocedure(format('%I.chirrup_number_message()', current_schema())) IS NULL THEN RETURN; END IF;
  CREATE OR REPLACE FUNCTION chirrup_number_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $f$
  BEGIN
    IF NEW.session_id IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtextextended(NEW.workspace_id::text, 0));
      SELECT id INTO NEW.session_id FROM chat_sessions
      WHERE workspace_id = NEW.workspace_id AND channel = 'legacy' AND deleted_at IS NULL
      ORDER BY created_at, id LIMIT 1;
      IF NOT FOUND THEN
        NEW.session_id := gen_random_uuid();
        INSERT INTO chat_sessions (id, workspace_id, title, status, closed_at, waiting_since, channel)
        VALUES (NEW.session_id, NEW.workspace_id, 'Legacy Chat', 'closed', now(), NULL, 'legacy');
      END IF;
    END IF;
    NEW.created_at := coalesce(NEW.created_at, now());
    UPDATE chat_sessions s SET last_seq = s.last_seq + 1, message_count = s.message_count + 1,
      last_message_at = NEW.created_at, last_message_preview = left(NEW.content, 120),
      last_message_role = NEW.role,
      status = CASE WHEN is_new THEN 'closed' ELSE s.status END,
      channel = CASE WHEN is_new THEN 'legacy' ELSE s.channel END,
      closed_at = CASE WHEN is_new THEN NEW.created_at ELSE s.closed_at END,
      waiting_since = CASE WHEN is_new THEN NULL WHEN s.status = 'waiting'
        THEN coalesce(s.waiting_since, statement_timestamp()) ELSE s.waiting_since END
    FROM (SELECT id, status = 'waiting' AND last_seq = 0 AND channel = 'web' AND NOT EXISTS (SELECT FROM visitors v
        WHERE v.workspace_id = n.workspace_id AND v.id = n.user_id) AS is_new
      FROM chat_sessions n WHERE id = NEW.session_id FOR UPDATE) AS session
    WHERE s.id = session.id AND s.workspace_id = NEW.workspace_id RETURNING s.last_seq INTO NEW.seq;
    NEW.content_hash := sha256(convert_to(
      NEW.kind || E'\n' || coalesce(NEW.payload::text, '') || E'\n' || coalesce(NEW.content, ''), 'UTF8'));
    RETURN NEW;
  END
  $f$;
END
$$;

-- down

DO $$
BEGIN
  IF to_regprocedure(format('%I.chirrup_number_message()', current_schema())) IS NULL THEN RETURN; END IF;
  CREATE OR REPLACE FUNCTION chirrup_number_message() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $f$
  BEGIN
    IF NEW.session_id IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtextextended(NEW.workspace_id::text, 0));
      SELECT id INTO NEW.session_id FROM chat_sessions
      WHERE workspace_id = NEW.workspace_id AND channel = 'legacy' AND deleted_at IS NULL
      ORDER BY created_at, id LIMIT 1;
      IF NOT FOUND THEN
        NEW.session_id := gen_random_uuid();
        INSERT INTO chat_sessions (id, workspace_id, title, status, closed_at, waiting_since, channel)
        VALUES (NEW.session_id, NEW.workspace_id, 'Legacy Chat', 'closed', now(), NULL, 'legacy');
      END IF;
    END IF;
    NEW.created_at := coalesce(NEW.created_at, now());
    UPDATE chat_sessions s SET last_seq = s.last_seq + 1, message_count = s.message_count + 1,
      last_message_at = NEW.created_at, last_message_preview = left(NEW.content, 120),
      last_message_role = NEW.role,
      status = CASE WHEN is_new THEN 'closed' ELSE s.status END,
      channel = CASE WHEN is_new THEN 'legacy' ELSE s.channel END,
      closed_at = CASE WHEN is_new THEN NEW.created_at ELSE s.closed_at END,
      waiting_since = CASE WHEN is_new THEN NULL ELSE s.waiting_since END
    FROM (SELECT id, status = 'waiting' AND last_seq = 0 AND channel = 'web' AS is_new
      FROM chat_sessions WHERE id = NEW.session_id FOR UPDATE) AS session
    WHERE s.id = session.id AND s.workspace_id = NEW.workspace_id RETURNING s.last_seq INTO NEW.seq;
    NEW.content_hash := sha256(convert_to(
      NEW.kind || E'\n' || coalesce(NEW.payload::text, '') || E'\n' || coalesce(NEW.content, ''), 'UTF8'));
    RETURN NEW;
  END
  $f$;
END
$$;
