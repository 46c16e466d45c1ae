-- expect: inherits from or is inherited by
-- Messages that an archive inherits from.
CREATE TABLE chats_archive () INHERITS (chats);
INSERT INTO chats_archive SELECT * FROM chats WHERE role = 'system';
