-- base: broken_chain
-- schema: chirrup
-- import: acme
-- The LINE back end after its own repair, with Chirrup in a schema of its own; its messages are imported.
CREATE TYPE session_status AS ENUM ('WAITING', 'ACTIVE', 'CLOSED');
CREATE TABLE chat_sessions (
  id serial PRIMARY KEY, line_user_id varchar(64) NOT NULL, operator_id integer, status session_status NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(), claimed_at timestamptz, closed_at timestamptz);
INSERT INTO chat_sessions (line_user_id, status) SELECT line_user_id, 'WAITING' FROM users LIMIT 3;
CREATE TABLE chat_analytics (id serial PRIMARY KEY, date date UNIQUE, total_sessions integer);
CREATE TABLE credentials (id serial PRIMARY KEY, name text, provider text, credentials text);
CREATE TABLE friend_events (id serial PRIMARY KEY, line_user_id varchar(64), event_type text);
CREATE TABLE rich_menus (id serial PRIMARY KEY, name text, rich_menu_id text, sync_status text DEFAULT 'PENDING');
UPDATE alembic_version SET version_num = 'c1d2e3f4a5b6';
