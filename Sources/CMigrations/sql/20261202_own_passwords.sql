-- A password that another person has set must be changed at the first login, and a key invites members without
-- access to their accounts.
-- parent: 20261130_share_statements
-- loses: the marks of passwords that another person has set, and of keys that can only invite

ALTER TABLE operators ADD COLUMN IF NOT EXISTS must_change_password boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN operators.must_change_password IS
  'Somebody else has given the password: nothing but changing it is allowed.';

-- members:write had the rights that members:manage has now; an old key keeps the smaller part.
UPDATE api_keys SET scopes = array_replace(scopes, 'members:write', 'members:invite')
WHERE 'members:write' = ANY (scopes);

-- down

UPDATE api_keys SET scopes = array_remove(array_replace(scopes, 'members:invite', 'members:write'), 'members:manage')
WHERE scopes && '{members:invite,members:manage}';
ALTER TABLE operators DROP COLUMN IF EXISTS must_change_password;
