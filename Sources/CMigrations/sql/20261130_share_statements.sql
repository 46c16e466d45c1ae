-- Functions that several statements share: the present operators, and a conversation's change of its operator.
-- parent: 20261129_create_gateways
-- loses: nothing

CREATE OR REPLACE FUNCTION chirrup_is_present(seen_at timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT seen_at > now() - interval '15 seconds'
$$;
COMMENT ON FUNCTION chirrup_is_present(timestamptz) IS
  'Online is who was seen a moment ago: gateways write every five seconds whom they see.';

CREATE OR REPLACE FUNCTION chirrup_is_anybody_available(workspace uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM operator_presence p JOIN operators o ON o.id = p.operator_id
    WHERE p.workspace_id = workspace AND p.is_available AND o.disabled_at IS NULL AND chirrup_is_present(p.seen_at))
$$;
COMMENT ON FUNCTION chirrup_is_anybody_available(uuid) IS 'Whether an operator is there who takes conversations.';

-- The caller has locked the session's row in the same transaction and checked that the change applies. `change` is
-- claimed, assigned, transferred, unassigned (each with the receiver, or none: back to the queue), closed or reopened,
-- by `author`. The entry for everyone comes first, then the reason as a note for operators.
CREATE OR REPLACE FUNCTION chirrup_change(workspace uuid, session uuid, change text, receiver uuid, receiver_name text,
  author uuid, author_name text, line uuid, sentence text, event jsonb, note uuid DEFAULT NULL, reason text DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  head bigint;
  moment timestamptz := clock_timestamp();
  changes_hands boolean := change NOT IN ('closed', 'reopened');
BEGIN
  SELECT s.last_seq INTO STRICT head FROM chat_sessions s
  WHERE s.workspace_id = workspace AND s.id = session FOR UPDATE;
  INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload, operator_id, operator_name,
    content_hash, created_at)
  SELECT l.id, workspace, session, head + l.place, l.role, l.kind, l.content, l.payload, l.operator_id, l.name,
    sha256(convert_to(l.kind || E'\n' || coalesce(l.payload::text, '') || E'\n' || l.content, 'UTF8')), moment
  FROM (VALUES
    (1, line, 'system', 'event', sentence, event, NULL::uuid, NULL::text),
    (2, note, 'operator', 'note', reason, NULL, author, author_name))
    AS l (place, id, role, kind, content, payload, operator_id, name)
  WHERE l.content IS NOT NULL;
  UPDATE chat_sessions s SET
    last_seq = head + CASE WHEN reason IS NULL THEN 1 ELSE 2 END,
    status = CASE WHEN change = 'closed' THEN 'closed'
      WHEN CASE WHEN changes_hands THEN receiver ELSE s.assigned_operator_id END IS NULL THEN 'waiting'
      ELSE 'active' END,
    assigned_operator_id = CASE WHEN changes_hands THEN receiver ELSE s.assigned_operator_id END,
    operator_name = CASE WHEN changes_hands THEN receiver_name ELSE s.operator_name END,
    claimed_at = CASE WHEN NOT changes_hands THEN s.claimed_at WHEN receiver IS NULL THEN NULL
      WHEN change = 'transferred' THEN coalesce(s.claimed_at, moment) ELSE moment END,
    queued_at = coalesce(s.waiting_since, s.queued_at),
    waiting_since = CASE WHEN change = 'closed' THEN NULL
      WHEN change = 'reopened' THEN CASE WHEN s.assigned_operator_id IS NULL THEN moment END
      WHEN receiver IS NULL THEN coalesce(s.queued_at, s.created_at) END,
    returned_by = CASE WHEN change IN ('closed', 'reopened', 'unassigned') THEN s.returned_by
      WHEN receiver IS NULL THEN author END,
    closed_at = CASE WHEN change = 'closed' THEN moment END,
    closed_by = CASE WHEN change = 'closed' THEN author END,
    transfer_count = s.transfer_count + CASE WHEN change = 'transferred' THEN 1 ELSE 0 END
  WHERE s.workspace_id = workspace AND s.id = session;
  RETURN true;
END
$$;
COMMENT ON FUNCTION chirrup_change(uuid, uuid, text, uuid, text, uuid, text, uuid, text, jsonb, uuid, text) IS
  'A conversation changes hands, is closed or opened again: the lines of its log and its row.';

-- down

DROP FUNCTION IF EXISTS chirrup_change(uuid, uuid, text, uuid, text, uuid, text, uuid, text, jsonb, uuid, text);
DROP FUNCTION IF EXISTS chirrup_is_anybody_available(uuid);
DROP FUNCTION IF EXISTS chirrup_is_present(timestamptz);
