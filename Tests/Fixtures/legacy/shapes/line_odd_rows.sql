-- base: broken_chain
-- Messages without a user, time or type, of a user that is missing, in lower case, and of unknown roles and types.
TRUNCATE messages, users;
ALTER TABLE messages DROP CONSTRAINT messages_line_user_id_fkey, DROP CONSTRAINT messages_direction_check,
  DROP CONSTRAINT messages_sender_role_check, ALTER line_user_id DROP NOT NULL, ALTER direction DROP NOT NULL,
  ALTER message_type DROP NOT NULL, ALTER created_at DROP NOT NULL;
ALTER TABLE users ALTER line_user_id DROP NOT NULL, ALTER created_at DROP NOT NULL;
INSERT INTO users (line_user_id, display_name, created_at) VALUES ('Uodd', 'Odd', NULL), (NULL, 'No id', now());
INSERT INTO messages (line_user_id, direction, message_type, content, payload, sender_role, created_at) VALUES
  ('Uodd', 'INCOMING', 'TEXT', 'hello', NULL, 'user', '2026-01-10 08:00Z'),
  ('Uodd', 'OUTGOING', 'text', 'good day', NULL, 'admin', '2026-01-10 08:01Z'),
  ('Uodd', 'INCOMING', NULL, NULL, '{"a":1}', 'USER', '2026-01-10 08:02Z'),
  ('Uodd', 'incoming', NULL, 'no type', NULL, NULL, '2026-01-10 08:03Z'),
  ('Uodd', 'OUTGOING', 'carousel', 'see', '{"n":2}', 'BOT', '2026-01-10 08:04Z'),
  ('Uodd', 'OUTGOING', 'text', 'by a robot', NULL, 'ROBOT', '2026-01-10 08:05Z'),
  ('Uodd', 'INCOMING', 'text', 'later', NULL, 'USER', '2026-01-10 08:06Z'),
  ('Uodd', 'INCOMING', 'text', 'no time', NULL, 'USER', NULL),
  ('Uodd', 'INCOMING', 'FOLLOW', NULL, NULL, NULL, '2026-01-10 07:00Z'),
  ('Uabsent', 'INCOMING', 'text', 'still here', NULL, 'USER', NULL),
  ('Uabsent', 'INCOMING', 'text', 'and again', NULL, 'USER', '2026-01-10 09:00Z'),
  (NULL, 'INCOMING', 'text', 'nobody''s 1', NULL, 'USER', '2026-01-10 10:00Z'),
  (NULL, 'INCOMING', 'text', 'nobody''s 2', NULL, 'USER', NULL);
