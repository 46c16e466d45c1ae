-- The tables of Live Helper Chat with the columns that config/live-helper-chat.sql reads, and rows of all kinds: 120
-- chats with 8 messages each, 20 of them in an archive.

CREATE TABLE lh_users (id int NOT NULL AUTO_INCREMENT, username varchar(80) NOT NULL, password varchar(200) NOT NULL,
  email varchar(100) NOT NULL, name varchar(100) NOT NULL, surname varchar(100) NOT NULL,
  chat_nickname varchar(100) NOT NULL, disabled tinyint NOT NULL, all_departments tinyint(1) NOT NULL, PRIMARY KEY (id))
  ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_group (id int NOT NULL, name varchar(50) NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_groupuser (id int NOT NULL AUTO_INCREMENT, group_id int NOT NULL, user_id int NOT NULL, PRIMARY KEY (id))
  ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_grouprole (id int NOT NULL AUTO_INCREMENT, group_id int NOT NULL, role_id int NOT NULL, PRIMARY KEY (id))
  ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_rolefunction (id int NOT NULL AUTO_INCREMENT, role_id int NOT NULL, module varchar(100) NOT NULL,
  `function` varchar(100) NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_departament (id int NOT NULL AUTO_INCREMENT, name varchar(100) NOT NULL, disabled int NOT NULL,
  PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_userdep (id int NOT NULL AUTO_INCREMENT, user_id int NOT NULL, dep_id int NOT NULL,
  type int NOT NULL DEFAULT 0, PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_abstract_subject (id int NOT NULL AUTO_INCREMENT, name varchar(100) NOT NULL, color varchar(100) NOT NULL,
  PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_abstract_subject_chat (id bigint NOT NULL AUTO_INCREMENT, subject_id int NOT NULL, chat_id bigint NOT NULL,
  PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_canned_msg (id int NOT NULL AUTO_INCREMENT, title varchar(250) NOT NULL, msg longtext NOT NULL,
  PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_chat (id bigint NOT NULL AUTO_INCREMENT, nick varchar(100) NOT NULL, status int NOT NULL DEFAULT 0,
  time int NOT NULL, cls_time int NOT NULL DEFAULT 0, last_user_msg_time int NOT NULL DEFAULT 0,
  last_op_msg_time int NOT NULL DEFAULT 0, user_id int NOT NULL DEFAULT 0, dep_id int NOT NULL DEFAULT 0,
  email varchar(100) NOT NULL, phone varchar(100) NOT NULL, city varchar(100) NOT NULL, country_name varchar(100) NOT NULL,
  chat_locale varchar(10) NOT NULL, referrer text NOT NULL, remarks text NOT NULL, fbst tinyint(1) NOT NULL DEFAULT 0,
  online_user_id int NOT NULL DEFAULT 0, additional_data text NOT NULL, chat_variables text NOT NULL,
  hash varchar(40) NOT NULL, ip varchar(100) NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_msg (id bigint unsigned NOT NULL AUTO_INCREMENT, msg longtext NOT NULL, meta_msg longtext NOT NULL,
  time int NOT NULL, chat_id int NOT NULL DEFAULT 0, user_id int NOT NULL DEFAULT 0, name_support varchar(100) NOT NULL,
  PRIMARY KEY (id), KEY chat_id_id (chat_id, id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_chat_file (id int unsigned NOT NULL AUTO_INCREMENT, upload_name varchar(255) NOT NULL, size int NOT NULL,
  chat_id bigint NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_abstract_survey (id int NOT NULL AUTO_INCREMENT, max_stars_1 int NOT NULL, PRIMARY KEY (id))
  ENGINE=InnoDB CHARSET=utf8mb4;
CREATE TABLE lh_abstract_survey_item (id bigint NOT NULL AUTO_INCREMENT, survey_id int NOT NULL, chat_id int NOT NULL,
  status int NOT NULL DEFAULT 0, max_stars_1 int NOT NULL, question_plain_1 text NOT NULL, user_id int NOT NULL,
  ftime int NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB CHARSET=utf8mb4;

INSERT INTO lh_users VALUES
  (1, 'dana', 'hidden-hash', 'Dana@Bikes.example', 'Dana', 'Lee', 'Dana', 0, 1),
  (2, 'omar', 'hidden-hash', 'omar@bikes.example', 'Omar', 'Haddad', '', 0, 0),
  (3, 'nobody', 'hidden-hash', '', 'No', 'Address', '', 0, 0),
  (4, 'gone', 'hidden-hash', 'gone@bikes.example', 'Gone', 'Before', '', 1, 0);
INSERT INTO lh_group VALUES (1, 'Administrators'), (2, 'Operators');
INSERT INTO lh_groupuser (group_id, user_id) VALUES (1, 1), (2, 2), (2, 3), (2, 4);
INSERT INTO lh_grouprole (group_id, role_id) VALUES (1, 1), (2, 2);
INSERT INTO lh_rolefunction (role_id, module, `function`) VALUES (1, '*', '*'), (2, 'lhchat', 'use');
INSERT INTO lh_departament VALUES (1, 'Sales', 0), (2, 'Service', 0), (3, 'Closed long ago', 1);
INSERT INTO lh_userdep (user_id, dep_id, type) VALUES (2, 2, 0), (2, 2, 1), (1, 0, 0);
INSERT INTO lh_abstract_subject VALUES (1, 'refund', 'ff00aa'), (2, 'vip', ''), (3, REPEAT('x', 60), '');
INSERT INTO lh_canned_msg VALUES (1, 'Order status', '[b]Hello[/b], see [url=https://shop.example/o]your order[/url]'),
  (2, 'Order status', 'Second'), (3, '', 'Untitled'), (4, 'Empty', '');
INSERT INTO lh_abstract_survey VALUES (1, 5), (2, 10);

-- Every tenth has the id of the host site, every fourth an address, every third belongs to one browser.
INSERT INTO lh_chat (id, nick, status, time, cls_time, last_user_msg_time, last_op_msg_time, user_id, dep_id, email, phone,
  city, country_name, chat_locale, referrer, remarks, fbst, online_user_id, additional_data, chat_variables, hash, ip)
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 120)
SELECT i, CONCAT('Visitor ', i, IF(i % 9 = 0, ' Zoë 🚲', '')), CASE WHEN i % 10 < 6 THEN 2 WHEN i % 10 = 6 THEN 0
    WHEN i % 10 = 7 THEN 1 WHEN i % 10 = 8 THEN 5 ELSE 1 END,
  1709251200 + i * 3600, IF(i % 10 < 6, 1709251200 + i * 3600 + 1800, 0), 1709251200 + i * 3600 + 420,
  1709251200 + i * 3600 + 360, CASE i % 4 WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 4 ELSE 0 END, 1 + i % 3,
  IF(i % 4 = 0, CONCAT('c', i, '@example.com'), ''), IF(i = 8, '+15550100', ''), IF(i = 8, 'Ghent', ''),
  IF(i = 8, 'Belgium', ''), IF(i % 6 = 0, 'fr', ''), IF(i % 6 = 0, 'https://shop.example/cart', ''),
  IF(i = 12, 'Calls on Mondays', ''), IF(i = 20, 1, IF(i = 21, 2, 0)), IF(i % 3 = 0, 7, 0),
  IF(i = 8, '[{"identifier":"plan","key":"Plan","value":"gold","h":false}]', ''),
  IF(i % 10 = 7, CONCAT('{"customer":"customer-', i, '"}'), ''), 'hidden-hash', '198.51.100.7'
FROM n;
INSERT INTO lh_chat (id, nick, status, time, user_id, dep_id, email, phone, city, country_name, chat_locale, referrer,
  remarks, additional_data, chat_variables, hash, ip)
VALUES (900, 'Omar', 4, 1709251200, 1, 0, '', '', '', '', '', '', '', '', '', '', '');

INSERT INTO lh_msg (msg, meta_msg, time, chat_id, user_id, name_support)
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 8)
SELECT CASE n.i WHEN 3 THEN CONCAT('whisper ', n.i, ' of ', c.id) ELSE CONCAT('line ', n.i, ' of ', c.id) END,
  IF(n.i = 3, '{"content":{"whisper":true}}', ''), c.time + n.i * 60, c.id,
  CASE n.i WHEN 2 THEN IF(c.user_id > 0, c.user_id, 2) WHEN 3 THEN 2 WHEN 4 THEN -1 WHEN 5 THEN -2 ELSE 0 END,
  CASE n.i WHEN 2 THEN 'Dana' WHEN 3 THEN 'Omar Haddad' WHEN 4 THEN 'System' WHEN 5 THEN 'Bot' ELSE '' END
FROM lh_chat c JOIN n ON c.status <> 4 ORDER BY c.id, n.i;
INSERT INTO lh_chat_file VALUES (12, 'receipt.png', 48210, 1);
INSERT INTO lh_msg (id, msg, meta_msg, time, chat_id, user_id, name_support) VALUES
  (10001, '[file=12_5f3a_img]\nwith "quotes", a \\ and a tab\t!', '', 1709256000, 1, 0, ''),
  (10002, '[b]bold[/b] [url=https://shop.example]shop[/url] [not a tag] [img]https://x.example/a.png[/img]', '', 1709256001, 1, 1, 'Dana'),
  (10003, '', '', 1709256002, 1, 0, ''),
  (10004, 'never shown', '{"content":{"debug":true}}', 1709256003, 1, -2, 'Bot'),
  (10005, REPEAT('é', 20000), '', 1709256004, 1, 0, '');
INSERT INTO lh_msg (id, msg, meta_msg, time, chat_id, user_id, name_support) VALUES
  (10006, CONCAT('NUL', CHAR(0), 'here'), '', 1709256005, 1, 0, '');
INSERT INTO lh_abstract_subject_chat (subject_id, chat_id) VALUES (1, 1), (2, 1), (1, 2), (3, 4);
INSERT INTO lh_abstract_survey_item (survey_id, chat_id, status, max_stars_1, question_plain_1, user_id, ftime) VALUES
  (1, 30, 0, 4, 'Kind and quick', 2, 1709400000), (2, 31, 0, 9, '', 2, 1709400000), (1, 32, 1, 1, '', 2, 1709400000);

-- As Live Helper Chat archives: tables of the same form, rows with the same ids.
CREATE TABLE lh_chat_archive_3 LIKE lh_chat;
CREATE TABLE lh_chat_archive_msg_3 LIKE lh_msg;
CREATE TABLE lh_abstract_subject_chat_3 LIKE lh_abstract_subject_chat;
INSERT INTO lh_chat_archive_3 SELECT * FROM lh_chat WHERE id BETWEEN 41 AND 60;
INSERT INTO lh_chat_archive_msg_3 SELECT * FROM lh_msg WHERE chat_id BETWEEN 41 AND 60;
INSERT INTO lh_abstract_subject_chat_3 (subject_id, chat_id) VALUES (2, 41);
DELETE FROM lh_msg WHERE chat_id BETWEEN 41 AND 60;
DELETE FROM lh_chat WHERE id BETWEEN 41 AND 60;
