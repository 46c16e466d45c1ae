-- expect: chats.created_at
-- Messages without a time.
ALTER TABLE chats ALTER COLUMN created_at DROP NOT NULL, ALTER COLUMN created_at DROP DEFAULT;
UPDATE chats SET created_at = NULL WHERE role = 'system';
