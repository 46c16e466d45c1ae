-- expect: belongs to the extension citext
-- Messages in a table that belongs to an extension, so that pg_dump leaves it out.
CREATE EXTENSION citext;
ALTER EXTENSION citext ADD TABLE chats;
