-- expect: chats.content
-- Contents of a domain.
CREATE DOMAIN message_text AS text CHECK (length(VALUE) < 100000);
ALTER TABLE chats ALTER COLUMN content TYPE message_text;
