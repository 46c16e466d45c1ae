-- Keys and times without defaults: the application makes them.
-- old: INSERT INTO chats (id, workspace_id, role, content, created_at) SELECT gen_random_uuid(), id, 'user', 'Hi', now() FROM workspaces WHERE name = 'Busy'
-- old: INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES (gen_random_uuid(), gen_random_uuid(), 'V', now(), now())
ALTER TABLE chats ALTER COLUMN id DROP DEFAULT, ALTER COLUMN created_at DROP DEFAULT;
ALTER TABLE workspaces ALTER COLUMN created_at DROP DEFAULT, ALTER COLUMN updated_at DROP DEFAULT;
