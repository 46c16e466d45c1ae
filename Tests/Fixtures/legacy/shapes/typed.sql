-- expect: is a table of the type message
-- Messages in a table of a type.
CREATE TYPE message AS (id uuid, workspace_id uuid, user_id uuid, role text, content text, created_at timestamptz);
ALTER TABLE chats OF message;
