-- expect: is a rule
-- A rule that turns deletions into nothing.
CREATE RULE chats_stay AS ON DELETE TO chats DO INSTEAD NOTHING;
