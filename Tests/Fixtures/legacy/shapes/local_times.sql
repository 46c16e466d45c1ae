-- expect: chats.created_at
-- Times without a time zone.
ALTER TABLE chats ALTER COLUMN created_at TYPE timestamp USING created_at AT TIME ZONE 'UTC';
