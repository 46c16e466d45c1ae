-- expect: chats.origin
-- A column that a check, not NOT NULL, demands in every row.
ALTER TABLE chats ADD COLUMN origin text;
UPDATE chats SET origin = 'app';
ALTER TABLE chats ADD CONSTRAINT origin_is_known CHECK (origin IS NOT NULL);
