-- expect: chats.origin
-- A column of a domain that forbids NULL, without a default.
CREATE DOMAIN origin AS text NOT NULL CHECK (VALUE <> '');
ALTER TABLE chats ADD COLUMN origin text DEFAULT 'app';
ALTER TABLE chats ALTER COLUMN origin TYPE origin;
ALTER TABLE chats ALTER COLUMN origin DROP DEFAULT;
