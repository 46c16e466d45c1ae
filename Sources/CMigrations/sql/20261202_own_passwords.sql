-- A password that somebody else has given is changed at the first login, and a key invites members without
-- taking their accounts over.
-- parent: 20261130_share_statements
-- loses: which passwords are still those that somebody else has given, and which keys could only invite

ALTER TABLE operators ADD COLUMN IF NOT EXISTS must_change_password boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN operators.must_change_password IS
  'Somebody else has given the password: nothing but changing it is allowed.';

-- members:write allowed what members:manage allows now; an old key keeps the lesser half.
UPDATE api_keys SET scopes = array_replace(scopes, 'members:write', 'members:invite')
WHERE 'members:write' = ANY (scopes);

-- down

UPDATE api_keys SET scopes = array_remove(array_replace(scopes, 'members:invite', 'members:write'), 'members:manage')
WHERE scopes && '{members:invite,members:manage}';
ALTER TABLE operators DROP COLUMN IF EXISTS must_change_password;
