-- Chirrup's tables belong to Chirrup only: default privileges of PUBLIC and of Supabase's roles are revoked.
-- parent: 20261205_read_ratings
-- loses: nothing
--
-- The migrator does the same for later tables. Privileges that an administrator granted to other roles stay;
-- `chirrup migrate verify` lists those that allow reading a secret or writing a table of Chirrup's.

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
