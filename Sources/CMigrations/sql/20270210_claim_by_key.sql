-- An operator's reply finds the conversations by their keys, and is planned once for each connection.
-- parent: 20270205_upkeep_runs
-- compatible: 20261229_gateways
-- loses: nothing
--
-- While the planner believed the table of conversations to be small, it joined them by their workspace, so each reply read
-- all of a workspace. OFFSET 0 leaves only the key. PostgreSQL before 18 plans a function in SQL at each call; in PL/pgSQL
-- the plan is kept.

CREATE OR REPLACE FUNCTION chirrup_claim_by_reply(workspaces uuid[], sessions uuid[], messages uuid[], senders uuid[],
  names text[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT count(chirrup_change(r.workspace_id, r.session_id, 'claimed', r.sender, r.name, r.sender, r.name,
      gen_random_uuid(), r.name || ' joined', jsonb_build_object('event', 'claimed', 'operator',
        jsonb_build_object('id', r.sender, 'name', r.name))))
    FROM (
      SELECT DISTINCT ON (t.session_id) t.*
      FROM unnest(workspaces, sessions, messages, senders, names) WITH ORDINALITY
        AS t (workspace_id, session_id, message, sender, name, place)
      CROSS JOIN LATERAL (
        SELECT c.status, c.assigned_operator_id, c.deleted_at FROM chat_sessions c
        WHERE c.workspace_id = t.workspace_id AND c.id = t.session_id OFFSET 0) AS s
      WHERE s.status = 'waiting' AND s.assigned_operator_id IS NULL AND s.deleted_at IS NULL
        AND EXISTS (SELECT FROM memberships m WHERE m.workspace_id = t.workspace_id AND m.operator_id = t.sender)
        AND NOT EXISTS (SELECT FROM chats c WHERE c.workspace_id = t.workspace_id AND c.id = t.message)
      ORDER BY t.session_id, t.place
    ) r);
END
$$;

-- down

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
