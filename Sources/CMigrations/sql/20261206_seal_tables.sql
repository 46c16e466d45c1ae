-- Tables that Chirrup made are its own: what default privileges gave to everybody or to Supabase's roles is taken back.
-- parent: 20261205_read_ratings
-- loses: nothing
--
-- Later tables are sealed by the migrator as they are made. Privileges that an administrator gave to other roles stay;
-- `chirrup migrate verify` lists those with which a secret can be read or a table of Chirrup's written.

DO $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT c.oid::regclass AS name, r.name AS role
    FROM unnest(ARRAY['workspaces', 'operators', 'memberships', 'visitors', 'chat_sessions', 'chats', 'read_marks',
      'refresh_tokens', 'operator_sessions', 'signing_keys', 'system_settings', 'credentials', 'api_keys', 'intents',
      'reply_objects', 'rich_menus', 'friend_events', 'chat_analytics', 'csat_responses', 'tags', 'session_tags',
      'audit_log', 'webhooks', 'webhook_deliveries', 'database_epoch', 'quarantine', 'operator_presence',
      'closed_counts', 'idempotency_keys', 'chat_session_figures', 'chat_analytics_buckets', 'chat_analytics_pending',
      'bot_progress', 'gateways', 'revocations', 'chirrup_legacy_sessions']) AS made
    JOIN pg_class c ON c.oid = to_regclass(format('%I.%I', current_schema(), made))
    CROSS JOIN (VALUES ('PUBLIC'), ('anon'), ('authenticated')) AS r (name)
    WHERE (r.name = 'PUBLIC' OR to_regrole(r.name) IS NOT NULL)
      AND NOT EXISTS (SELECT FROM chirrup_adoptions WHERE relation = made AND kind = 'found')
  LOOP
    -- Who reads the older application's messages looks into their sessions: policies bind them.
    EXECUTE format('REVOKE %s ON TABLE %s FROM %s', CASE WHEN item.name = 'chat_sessions'::regclass
      AND EXISTS (SELECT FROM chirrup_adoptions WHERE relation = 'chats' AND kind = 'found')
      THEN 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER' ELSE 'ALL' END, item.name, item.role);
  END LOOP;
END
$$;

-- down

SELECT 1;
