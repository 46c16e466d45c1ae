-- The last message of each session that each person has received and read.
-- parent: 20260120_add_session_id_to_chats
-- loses: the read marks of all sessions

CREATE TABLE IF NOT EXISTS read_marks (
  session_id uuid NOT NULL REFERENCES chat_sessions (id) ON DELETE CASCADE,
  person_id uuid NOT NULL,
  role text NOT NULL CHECK (role IN ('visitor', 'operator')),
  name text NOT NULL DEFAULT '',
  read_seq bigint NOT NULL DEFAULT 0,
  delivered_seq bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, person_id)
) WITH (fillfactor = 70);
COMMENT ON TABLE read_marks IS 'Cumulative: a mark at n covers everything up to n, and only grows.';
COMMENT ON COLUMN read_marks.person_id IS 'A visitor or an operator, as role says.';

-- down

DROP TABLE IF EXISTS read_marks;
