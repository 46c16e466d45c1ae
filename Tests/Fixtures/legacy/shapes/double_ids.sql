-- expect: chats.id
-- Messages without a primary key, some of them twice.
ALTER TABLE chats DROP CONSTRAINT chats_pkey;
INSERT INTO chats SELECT * FROM chats WHERE role = 'system';
