-- expect: is the type of app_copies.chat, app_copies.pair
-- Whole messages are the values of columns, alone and in pairs.
CREATE TYPE app_pair AS (question chats, answers chats[]);
CREATE TABLE app_copies (chat chats, pair app_pair);
INSERT INTO app_copies (chat) SELECT chats FROM chats LIMIT 2;
