-- expect: workspaces.public_key
-- The application has keys of its own in a column of ours, some of them NULL.
ALTER TABLE workspaces ADD COLUMN public_key text;
UPDATE workspaces SET public_key = 'ssh-ed25519 ' || name WHERE name <> 'Busy';
