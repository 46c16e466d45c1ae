-- Writes what `chirrup import live-helper-chat` reads of a Live Helper Chat database: a JSON object a line, from one
-- snapshot that does not change. For MariaDB 10.2, MySQL 5.7.8 and later; it needs SELECT only. No password, no address
-- of a computer and no token is in it.
--
--   mariadb --batch --raw --skip-column-names --quick --default-character-set=utf8mb4 lhc \
--     <config/live-helper-chat.sql >lhc.jsonl
--
-- (`mysql` has the same options.) The first line names the format, the last one is written only if everything before it
-- was. The columns are those of Live Helper Chat 4.90. The client ends at the first error, for example at a column that
-- an older version lacks; then update Live Helper Chat's database first.

SET SESSION sql_mode = '';
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
-- Archives are one table each, and their statements are joined into one.
SET SESSION group_concat_max_len = 4194304;
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;

SELECT JSON_OBJECT('table', 'export', 'system', 'live-helper-chat', 'format', 1);

-- An administrator's role has all functions of all modules.
SELECT JSON_OBJECT('table', 'lh_users', 'id', u.id, 'email', u.email,
  'name', COALESCE(NULLIF(TRIM(u.chat_nickname), ''), NULLIF(TRIM(CONCAT(u.name, ' ', u.surname)), ''), u.username),
  'disabled', u.disabled, 'administrator', IF(EXISTS (
    SELECT 1 FROM lh_groupuser g JOIN lh_grouprole r ON r.group_id = g.group_id
    JOIN lh_rolefunction f ON f.role_id = r.role_id
    WHERE g.user_id = u.id AND f.module = '*' AND f.`function` = '*'), 1, 0))
FROM lh_users u ORDER BY u.id;

SELECT JSON_OBJECT('table', 'lh_departament', 'id', d.id, 'name', d.name, 'disabled', d.disabled)
FROM lh_departament d ORDER BY d.id;

-- A user may be in a department by more than one rule, or in all.
SELECT JSON_OBJECT('table', 'lh_userdep', 'id', CONCAT(p.dep_id, ':', p.user_id), 'department', p.dep_id,
  'user', p.user_id)
FROM (
  SELECT dep_id, user_id FROM lh_userdep WHERE dep_id > 0
  UNION SELECT d.id, u.id FROM lh_departament d JOIN lh_users u ON u.all_departments = 1
) AS p ORDER BY p.dep_id, p.user_id;

SELECT JSON_OBJECT('table', 'lh_abstract_subject', 'id', s.id, 'name', s.name, 'color', s.color)
FROM lh_abstract_subject s ORDER BY s.id;

SELECT JSON_OBJECT('table', 'lh_canned_msg', 'id', c.id, 'title', c.title, 'msg', c.msg)
FROM lh_canned_msg c ORDER BY c.id;

-- Not those between operators (4) and of the chatbox (3), which have no visitor.
SET @chats = "SELECT JSON_OBJECT('table', 'lh_chat', 'id', c.id, 'nick', c.nick, 'status', c.status, 'time', c.time,
  'closed', c.cls_time, 'visitor_at', c.last_user_msg_time, 'operator_at', c.last_op_msg_time, 'user', c.user_id,
  'department', c.dep_id, 'email', c.email, 'phone', c.phone, 'city', c.city, 'country', c.country_name,
  'locale', c.chat_locale, 'referrer', c.referrer, 'remarks', c.remarks, 'vote', c.fbst,
  'online_user', c.online_user_id, 'additional_data', c.additional_data, 'chat_variables', c.chat_variables)
  FROM `{table}` c WHERE c.status NOT IN (3, 4)";
-- Without the bot's log, signs of typing and scripts for the page.
SET @messages = "SELECT JSON_OBJECT('table', 'lh_msg', 'id', m.id, 'chat', m.chat_id, 'time', m.time,
  'user', m.user_id, 'name', m.name_support, 'msg', m.msg, 'meta_msg', m.meta_msg)
  FROM `{table}` m WHERE m.meta_msg NOT LIKE '%\"debug\":true%' AND m.meta_msg NOT LIKE '{\"content\":{\"typing\"%'
  AND m.meta_msg NOT LIKE '{\"content\":{\"execute_js\"%'";
SET @subjects = "SELECT JSON_OBJECT('table', 'lh_abstract_subject_chat', 'id', CONCAT(s.chat_id, ':', s.subject_id),
  'chat', s.chat_id, 'subject', s.subject_id) FROM `{table}` s";

-- The archives come first: of a chat that is in both, the last line counts.
SELECT COALESCE(GROUP_CONCAT(REPLACE(@chats, '{table}', table_name) ORDER BY table_name SEPARATOR ' UNION ALL '),
  'DO 0') INTO @archives FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name REGEXP '^lh_chat_archive_[0-9]+$';
PREPARE rows_of FROM @archives;
EXECUTE rows_of;
SET @chats = REPLACE(@chats, '{table}', 'lh_chat');
PREPARE rows_of FROM @chats;
EXECUTE rows_of;

SELECT COALESCE(GROUP_CONCAT(REPLACE(@subjects, '{table}', table_name) ORDER BY table_name SEPARATOR ' UNION ALL '),
  'DO 0') INTO @archives FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name REGEXP '^lh_abstract_subject_chat_[0-9]+$';
PREPARE rows_of FROM @archives;
EXECUTE rows_of;
SET @subjects = REPLACE(@subjects, '{table}', 'lh_abstract_subject_chat');
PREPARE rows_of FROM @subjects;
EXECUTE rows_of;

-- The first question with stars and the first one with a text; `scale` is the number of stars.
SELECT JSON_OBJECT('table', 'lh_abstract_survey_item', 'id', i.id, 'chat', i.chat_id, 'user', i.user_id,
  'time', i.ftime, 'stars', i.max_stars_1, 'scale', s.max_stars_1, 'comment', i.question_plain_1)
FROM lh_abstract_survey_item i JOIN lh_abstract_survey s ON s.id = i.survey_id
WHERE i.status = 0 AND i.max_stars_1 > 0 ORDER BY i.id;

SELECT JSON_OBJECT('table', 'lh_chat_file', 'id', f.id, 'chat', f.chat_id, 'name', f.upload_name, 'size', f.size)
FROM lh_chat_file f WHERE f.chat_id > 0 ORDER BY f.id;

SELECT COALESCE(GROUP_CONCAT(REPLACE(@messages, '{table}', table_name) ORDER BY table_name SEPARATOR ' UNION ALL '),
  'DO 0') INTO @archives FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name REGEXP '^lh_chat_archive_msg_[0-9]+$';
PREPARE rows_of FROM @archives;
EXECUTE rows_of;
SET @messages = CONCAT(REPLACE(@messages, '{table}', 'lh_msg'), ' ORDER BY m.id');
PREPARE rows_of FROM @messages;
EXECUTE rows_of;

SELECT JSON_OBJECT('table', 'end', 'id', 0);
COMMIT;
