-- expect: chats.role
-- A native enum of roles, with other words.
CREATE TYPE chat_role AS ENUM ('customer', 'agent', 'system');
ALTER TABLE chats DROP CONSTRAINT chats_role_check;
ALTER TABLE chats ALTER COLUMN role TYPE chat_role
  USING (CASE role WHEN 'user' THEN 'customer' WHEN 'assistant' THEN 'agent' ELSE role END)::chat_role;
