-- Numbers from sequences of the owner's, in demanded columns.
-- old: INSERT INTO chats (workspace_id, role, content) SELECT id, 'user', 'Hi' FROM workspaces WHERE name = 'Busy'
ALTER TABLE chats ADD COLUMN "number" bigserial, ADD COLUMN ticket integer;
CREATE SEQUENCE tickets START 100;
UPDATE chats SET ticket = nextval('tickets');
ALTER TABLE chats ALTER COLUMN ticket SET DEFAULT nextval('tickets'), ALTER COLUMN ticket SET NOT NULL;
ALTER TABLE workspaces ADD COLUMN "number" serial;
