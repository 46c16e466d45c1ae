-- expect: tags
-- Tables of the owner's with names that Chirrup needs.
CREATE TABLE tags (id serial PRIMARY KEY, label text);
CREATE VIEW visitors AS SELECT 1 AS id;
