-- A Chatwoot database: the tables and columns that its import reads, and rows of all kinds. The account 7 has 250
-- contacts, 300 conversations and about 4,000 messages; the account 8 belongs to others.

CREATE TABLE accounts (id serial PRIMARY KEY, name varchar NOT NULL, created_at timestamp NOT NULL);
CREATE TABLE users (id serial PRIMARY KEY, name varchar NOT NULL, display_name varchar, email varchar,
  created_at timestamp NOT NULL);
CREATE TABLE account_users (id bigserial PRIMARY KEY, account_id bigint, user_id bigint, role integer DEFAULT 0);
CREATE TABLE inboxes (id serial PRIMARY KEY, account_id integer NOT NULL, name varchar NOT NULL, channel_type varchar);
CREATE TABLE contacts (id serial PRIMARY KEY, account_id integer NOT NULL, name varchar DEFAULT '', email varchar,
  phone_number varchar, identifier varchar, additional_attributes jsonb DEFAULT '{}',
  custom_attributes jsonb DEFAULT '{}', last_activity_at timestamp, middle_name varchar DEFAULT '',
  last_name varchar DEFAULT '', blocked boolean DEFAULT false NOT NULL, created_at timestamp NOT NULL,
  UNIQUE (identifier, account_id), UNIQUE (email, account_id));
CREATE TABLE conversations (id serial PRIMARY KEY, account_id integer NOT NULL, inbox_id integer NOT NULL,
  status integer DEFAULT 0 NOT NULL, assignee_id integer, contact_id bigint, display_id integer NOT NULL,
  contact_last_seen_at timestamp, agent_last_seen_at timestamp, additional_attributes jsonb DEFAULT '{}',
  snoozed_until timestamp, team_id bigint, cached_label_list text, created_at timestamp NOT NULL,
  last_activity_at timestamp NOT NULL);
CREATE TABLE messages (id serial PRIMARY KEY, content text, account_id integer NOT NULL, inbox_id integer NOT NULL,
  conversation_id integer NOT NULL, message_type integer NOT NULL, private boolean DEFAULT false NOT NULL,
  content_type integer DEFAULT 0 NOT NULL, content_attributes json DEFAULT '{}', sender_type varchar,
  sender_id bigint, created_at timestamp NOT NULL);
CREATE INDEX ON messages (conversation_id);
CREATE TABLE attachments (id serial PRIMARY KEY, file_type integer DEFAULT 0, external_url varchar,
  coordinates_lat float DEFAULT 0, coordinates_long float DEFAULT 0, message_id integer NOT NULL,
  account_id integer NOT NULL, fallback_title varchar);
CREATE TABLE active_storage_blobs (id bigserial PRIMARY KEY, key varchar NOT NULL, filename varchar NOT NULL,
  byte_size bigint NOT NULL);
CREATE TABLE active_storage_attachments (id bigserial PRIMARY KEY, name varchar NOT NULL, record_type varchar NOT NULL,
  record_id bigint NOT NULL, blob_id bigint NOT NULL);
CREATE TABLE labels (id bigserial PRIMARY KEY, title varchar, color varchar DEFAULT '#1f93ff', account_id bigint);
CREATE TABLE tags (id serial PRIMARY KEY, name varchar UNIQUE);
CREATE TABLE taggings (id serial PRIMARY KEY, tag_id integer, taggable_type varchar, taggable_id integer,
  context varchar(128));
CREATE TABLE canned_responses (id serial PRIMARY KEY, account_id integer NOT NULL, short_code varchar, content text);
CREATE TABLE csat_survey_responses (id bigserial PRIMARY KEY, account_id bigint NOT NULL, conversation_id bigint NOT NULL,
  rating integer NOT NULL, feedback_message text, assigned_agent_id bigint, created_at timestamp NOT NULL);

INSERT INTO accounts VALUES (7, 'Bikes', '2024-01-01 08:00'), (8, 'Others', '2024-01-02 08:00');
INSERT INTO users VALUES
  (1, 'Dana Lee', 'Dana', 'Dana@Bikes.example', '2024-01-01'), (2, 'Omar Haddad', NULL, 'omar@bikes.example', '2024-01-01'),
  (3, 'No Address', NULL, NULL, '2024-01-01'), (4, 'Gone Before', NULL, 'gone@bikes.example', '2024-01-01');
INSERT INTO account_users (account_id, user_id, role) VALUES (7, 1, 1), (7, 2, 0), (7, 3, 0), (8, 4, 1);
INSERT INTO inboxes VALUES (1, 7, 'Website', 'Channel::WebWidget'), (2, 7, 'Support mail', 'Channel::Email'),
  (3, 8, 'Website', 'Channel::WebWidget');
INSERT INTO labels (id, title, color, account_id) VALUES (1, 'vip', '#FF00AA', 7), (2, 'refund', 'red', 7),
  (3, repeat('x', 60), NULL, 7), (4, 'other', NULL, 8);
INSERT INTO canned_responses (id, account_id, short_code, content) VALUES (1, 7, 'hello', 'Hello, how can I help?'),
  (2, 7, 'two words', 'no'), (3, 7, 'empty', ''), (4, 8, 'other', 'Not ours'), (5, 7, 'Hello', 'Another one');

INSERT INTO contacts (id, account_id, name, last_name, email, phone_number, identifier, additional_attributes,
  custom_attributes, blocked, created_at, last_activity_at)
SELECT n, 7, CASE WHEN n % 3 = 0 THEN '' ELSE 'Contact ' || n END, CASE WHEN n % 5 = 0 THEN 'Doe' END,
  CASE WHEN n % 4 = 0 THEN 'c' || n || '@example.com' END, CASE WHEN n = 8 THEN '+15550100' END,
  CASE WHEN n % 10 = 0 THEN 'customer-' || n WHEN n = 11 THEN repeat('y', 300) END,
  CASE WHEN n = 8 THEN '{"city": "Ghent", "company_name": "ACME"}' ELSE '{}' END::jsonb,
  CASE WHEN n = 8 THEN '{"plan": "gold", "seats": 3, "tags": ["a", "b"], "empty": null}'
    WHEN n = 9 THEN (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 40) i) ELSE '{}' END::jsonb,
  n = 12, timestamp '2024-02-01' + n * interval '1 hour', timestamp '2024-06-01'
FROM generate_series(1, 250) n;
INSERT INTO contacts (id, account_id, name, created_at) VALUES (900, 8, 'Not ours', '2024-01-01');

INSERT INTO conversations (id, account_id, inbox_id, status, assignee_id, contact_id, display_id, contact_last_seen_at,
  agent_last_seen_at, additional_attributes, created_at, last_activity_at)
SELECT n, 7, 1 + n % 2, CASE WHEN n % 10 = 0 THEN 0 WHEN n % 10 = 1 THEN 2 WHEN n % 10 = 2 THEN 3 ELSE 1 END,
  CASE n % 4 WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 4 END, CASE WHEN n = 299 THEN NULL ELSE 1 + n % 250 END, n,
  timestamp '2024-03-01' + n * interval '1 hour' + interval '3 minutes', timestamp '2024-12-31',
  CASE WHEN n % 6 = 0 THEN '{"referer": "https://shop.example/cart", "browser_language": "fr"}' ELSE '{}' END::jsonb,
  timestamp '2024-03-01' + n * interval '1 hour', timestamp '2024-03-01' + n * interval '1 hour' + interval '9 minutes'
FROM generate_series(1, 300) n;
INSERT INTO conversations (id, account_id, inbox_id, contact_id, display_id, created_at, last_activity_at)
VALUES (900, 8, 3, 900, 1, '2024-03-01', '2024-03-01');

-- Ten messages each, with twins of time, and those of conversation 5 are many.
INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, private, sender_type, sender_id,
  created_at)
SELECT 'line ' || i || ' of ' || n || E', \u00fc\U0001F600', 7, 1 + n % 2, n,
  CASE i WHEN 2 THEN 1 WHEN 4 THEN 1 WHEN 5 THEN 2 WHEN 6 THEN 3 WHEN 8 THEN 1 ELSE 0 END, i = 4,
  CASE i WHEN 2 THEN 'User' WHEN 4 THEN 'User' WHEN 5 THEN NULL WHEN 6 THEN NULL WHEN 8 THEN 'AgentBot' ELSE 'Contact' END,
  CASE i WHEN 2 THEN 1 + n % 2 WHEN 4 THEN 4 ELSE 1 + n % 250 END,
  timestamp '2024-03-01' + n * interval '1 hour' + (i / 2) * interval '1 minute'
FROM generate_series(1, 300) n, generate_series(0, 9) i;
INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, sender_type, sender_id, created_at)
SELECT 'more ' || i, 7, 2, 5, 0, 'Contact', 6, timestamp '2024-03-01 05:10' + i * interval '1 second'
FROM generate_series(1, 1200) i;
INSERT INTO messages (id, content, account_id, inbox_id, conversation_id, message_type, content_type, content_attributes,
  sender_type, sender_id, created_at) VALUES
  (10001, 'This message was deleted', 7, 1, 1, 0, 0, '"{\"deleted\":true}"', 'Contact', 2, '2024-03-01 02:00'),
  (10002, 'This too', 7, 1, 1, 0, 0, '{"deleted":true}', 'Contact', 2, '2024-03-01 02:01'),
  (10003, '  ', 7, 1, 1, 0, 0, '{}', 'Contact', 2, '2024-03-01 02:02'),
  (10004, NULL, 7, 1, 1, 0, 0, '{}', 'Contact', 2, '2024-03-01 02:03'),
  (10005, repeat('é', 20000), 7, 1, 1, 0, 0, '{}', 'Contact', 2, '2024-03-01 02:04'),
  (10006, repeat('z', 300000), 7, 1, 1, 0, 0, '{}', 'Contact', 2, '2024-03-01 02:05'),
  (10007, '<html><head><style>p {}</style></head><body><p>Dear&nbsp;all,</p><p>2 &lt; 3 &#38; so<br>on</p></body></html>',
    7, 2, 1, 0, 8, '{}', 'Contact', 2, '2024-03-01 02:06'),
  (10008, NULL, 7, 2, 1, 0, 8, '{"email":{"html_content":{"full":"<div>Only <b>HTML</b></div>"}}}', 'Contact', 2,
    '2024-03-01 02:07'),
  (10009, 'Choose', 7, 1, 1, 3, 4, '"{\"items\":[{\"title\":\"Red\",\"value\":\"r\"}],\"submitted_values\":[{\"title\":\"Red\",\"value\":\"r\"}]}"',
    NULL, NULL, '2024-03-01 02:08'),
  (10010, 'with NUL', 7, 1, 1, 0, 0, '{"items":[{"title":"a\u0000b"}]}', 'Contact', 2, '2024-03-01 02:09'),
  (10011, 'refused', 7, 1, 1, 0, 0, '{}', 'Contact', 2, '2024-03-01 02:10');
INSERT INTO attachments (id, file_type, external_url, message_id, account_id, fallback_title, coordinates_lat,
  coordinates_long) VALUES (1, 0, NULL, 10004, 7, NULL, 0, 0), (2, 4, 'https://maps.example/1', 10004, 7, 'Office', 51.5, 3.25);
INSERT INTO active_storage_blobs VALUES (1, 'k1', 'receipt.png', 48210);
INSERT INTO active_storage_attachments VALUES (1, 'file', 'Attachment', 1, 1);
INSERT INTO tags VALUES (1, 'vip'), (2, 'refund'), (3, 'unlisted');
INSERT INTO taggings (tag_id, taggable_type, taggable_id, context)
SELECT 1 + n % 3, 'Conversation', n, 'labels' FROM generate_series(1, 90) n;
INSERT INTO taggings (tag_id, taggable_type, taggable_id, context) VALUES (1, 'Contact', 1, 'labels');
INSERT INTO csat_survey_responses (account_id, conversation_id, rating, feedback_message, assigned_agent_id, created_at)
SELECT 7, n, 1 + n % 5, CASE WHEN n % 2 = 0 THEN 'comment ' || n END, 1, timestamp '2024-04-20' + n * interval '1 hour'
FROM generate_series(3, 300, 7) n;
INSERT INTO csat_survey_responses (account_id, conversation_id, rating, created_at) VALUES (7, 4, 9, '2024-05-01');
