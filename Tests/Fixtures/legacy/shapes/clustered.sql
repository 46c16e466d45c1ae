-- expect: chats.idx_chats_session_created
-- Indexes with names of Chirrup's that the table is clustered on and replicated by.
CREATE UNIQUE INDEX idx_chats_session_id ON chats (id) INCLUDE (role);
ALTER TABLE chats CLUSTER ON idx_chats_session_id;
CREATE UNIQUE INDEX idx_chats_session_created ON chats (id);
ALTER TABLE chats REPLICA IDENTITY USING INDEX idx_chats_session_created;
ALTER INDEX idx_chats_session_created SET (fillfactor = 80);
