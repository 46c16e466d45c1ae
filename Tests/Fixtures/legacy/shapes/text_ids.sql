-- expect: chats.id is character varying
-- Keys as varchar(36).
ALTER TABLE chats DROP CONSTRAINT chats_pkey;
ALTER TABLE chats ALTER COLUMN id DROP DEFAULT, ALTER COLUMN id TYPE varchar(36);
ALTER TABLE chats ADD PRIMARY KEY (id);
