-- expect: is not logged
-- Messages that are not logged.
ALTER TABLE chats SET UNLOGGED;
