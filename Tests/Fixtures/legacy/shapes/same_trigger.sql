-- expect: chats_outbox
-- A trigger of the owner's with a name that Chirrup cannot give up.
CREATE FUNCTION notify_other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER chats_outbox AFTER INSERT ON chats FOR EACH ROW EXECUTE FUNCTION notify_other();
