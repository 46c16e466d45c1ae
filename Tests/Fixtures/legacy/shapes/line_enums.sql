-- base: broken_chain
-- Native enums, as SQLAlchemy makes them.
CREATE TYPE direction AS ENUM ('INCOMING', 'OUTGOING');
CREATE TYPE sender AS ENUM ('USER', 'BOT', 'ADMIN');
ALTER TABLE messages DROP CONSTRAINT messages_direction_check, DROP CONSTRAINT messages_sender_role_check;
ALTER TABLE messages ALTER COLUMN direction TYPE direction USING direction::direction,
  ALTER COLUMN sender_role TYPE sender USING sender_role::sender;
