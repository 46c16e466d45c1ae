-- An operator's message to a waiting conversation claims it, in the transaction of the message; undoing a close
-- restores the queue position.
-- parent: 20261203_note_revocations
-- loses: nothing

-- The writer calls it between its locks and its rows, and only for batches with operators' messages. The entry
-- “… joined” precedes the message. A message that is stored already claims nothing: it may be repeated after the
-- conversation has returned to the queue. Capacity does not matter here: a written reply is not refused.
CREATE OR REPLACE FUNCTION chirrup_claim_by_reply(workspaces uuid[], sessions uuid[], messages uuid[], senders uuid[],
  names text[]) RETURNS bigint LANGUAGE sql AS $$
  SELECT count(chirrup_change(r.workspace_id, r.session_id, 'claimed', r.sender, r.name, r.sender, r.name,
    gen_random_uuid(), r.name || ' joined', jsonb_build_object('event', 'claimed', 'operator',
      jsonb_build_object('id', r.sender, 'name', r.name))))
  FROM (
    SELECT DISTINCT ON (t.session_id) t.*
    FROM unnest(workspaces, sessions, messages, senders, names) WITH ORDINALITY
      AS t (workspace_id, session_id, message, sender, name, place)
    JOIN chat_sessions s ON s.workspace_id = t.workspace_id AND s.id = t.session_id
    WHERE s.status = 'waiting' AND s.assigned_operator_id IS NULL AND s.deleted_at IS NULL
      AND EXISTS (SELECT FROM memberships m WHERE m.workspace_id = t.workspace_id AND m.operator_id = t.sender)
      AND NOT EXISTS (SELECT FROM chats c WHERE c.workspace_id = t.workspace_id AND c.id = t.message)
    ORDER BY t.session_id, t.place
  ) r
$$;
COMMENT ON FUNCTION chirrup_claim_by_reply(uuid[], uuid[], uuid[], uuid[], text[]) IS
  'Operators who reply to conversations that wait have them; their rows are locked by who calls it.';

-- The caller has just reopened the conversation, which was closed at that time: an accidental close, undone within
-- seconds, does not change the visitor's position.
CREATE OR REPLACE FUNCTION chirrup_keep_place(workspace uuid, session uuid, closed timestamptz) RETURNS boolean
LANGUAGE sql AS $$
  UPDATE chat_sessions SET waiting_since = queued_at
  WHERE workspace_id = workspace AND id = session AND status = 'waiting' AND queued_at IS NOT NULL
    AND closed > clock_timestamp() - interval '15 seconds'
  RETURNING true
$$;
COMMENT ON FUNCTION chirrup_keep_place(uuid, uuid, timestamptz) IS
  'A conversation that was closed for some seconds only stands where it stood.';

-- down

DROP FUNCTION IF EXISTS chirrup_keep_place(uuid, uuid, timestamptz);
DROP FUNCTION IF EXISTS chirrup_claim_by_reply(uuid[], uuid[], uuid[], uuid[], text[]);
