-- A message of a conversation that goes on is written without looking at the condition of chat_sessions_message_figures.
-- parent: 20270210_claim_by_key
-- compatible: 20261229_gateways
-- locks: chat_sessions
-- loses: nothing
--
-- PostgreSQL parses the condition of a trigger in each statement that names one of its columns: a seventh of the
-- instructions of a batch of one message. Whoever changes message_count of a conversation that had no message, or that
-- is closed, names first_response_at as well.

CREATE OR REPLACE TRIGGER chat_sessions_message_figures AFTER UPDATE OF first_response_at
  ON chat_sessions FOR EACH ROW WHEN (OLD.first_response_at IS DISTINCT FROM NEW.first_response_at
    OR OLD.message_count <> NEW.message_count AND (OLD.message_count = 0 OR NEW.status = 'closed'))
  EXECUTE FUNCTION chirrup_note_figures();

-- Only beside an older application, whose messages it numbers.
DO $$
DECLARE
  numbering regprocedure := to_regprocedure(format('%I.chirrup_next_number(uuid, uuid, text, text, timestamptz)',
    current_schema()));
  given text := 'last_message_role = role,';
  definition text;
BEGIN
  IF numbering IS NULL THEN RETURN; END IF;
  definition := pg_get_functiondef(numbering);
  IF strpos(definition, given) = 0 THEN RAISE EXCEPTION '% has another definition', numbering; END IF;
  EXECUTE replace(definition, given, given || ' first_response_at = s.first_response_at,');
END
$$;

-- down
-- locks: chat_sessions IN ACCESS EXCLUSIVE MODE

DO $$
DECLARE
  numbering regprocedure := to_regprocedure(format('%I.chirrup_next_number(uuid, uuid, text, text, timestamptz)',
    current_schema()));
BEGIN
  IF numbering IS NULL THEN RETURN; END IF;
  EXECUTE replace(pg_get_functiondef(numbering), ' first_response_at = s.first_response_at,', '');
END
$$;
CREATE OR REPLACE TRIGGER chat_sessions_message_figures AFTER UPDATE OF message_count, first_response_at
  ON chat_sessions FOR EACH ROW WHEN (OLD.first_response_at IS DISTINCT FROM NEW.first_response_at
    OR OLD.message_count <> NEW.message_count AND (OLD.message_count = 0 OR NEW.status = 'closed'))
  EXECUTE FUNCTION chirrup_note_figures();
