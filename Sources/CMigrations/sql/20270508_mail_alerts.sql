-- Alerts by e-mail: after how long somebody learns that a visitor waits.
-- parent: 20270507_channel_parts
-- compatible: 20261229_gateways
-- loses: nothing
--
-- An alert's row in mail_outbox is the mark that it was made: its id follows from the conversation and the time since
-- which it waits (see MailAlert).

-- A missing or invalid setting counts as the default: nobody is alerted, or after 300 s.
CREATE OR REPLACE FUNCTION chirrup_mail_alert(workspace uuid) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  given jsonb;
BEGIN
  given := (SELECT value::jsonb FROM system_settings WHERE workspace_id = workspace AND key = 'mail');
  IF coalesce(given ->> 'alert_to', '') = '' THEN RETURN NULL; END IF;
  BEGIN
    RETURN coalesce((given ->> 'alert_after_seconds')::bigint, 300);
  EXCEPTION WHEN data_exception THEN RETURN 300;
  END;
EXCEPTION WHEN data_exception THEN RETURN NULL;
END
$$;
COMMENT ON FUNCTION chirrup_mail_alert(uuid) IS
  'Seconds after which an e-mail says that a visitor waits; NULL: none does.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL THEN RETURN; END IF;
  IF NOT has_function_privilege('chirrup_gateway', 'chirrup_mail_alert(uuid)', 'EXECUTE') THEN
    GRANT EXECUTE ON FUNCTION chirrup_mail_alert(uuid) TO chirrup_gateway;
  END IF;
END
$$;

-- down

DROP FUNCTION IF EXISTS chirrup_mail_alert(uuid);
