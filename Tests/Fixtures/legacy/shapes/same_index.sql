-- expect: idx_chat_sessions_line
-- An index of the owner's with a name that Chirrup needs. On another table.
CREATE INDEX idx_chat_sessions_line ON chats (role);
