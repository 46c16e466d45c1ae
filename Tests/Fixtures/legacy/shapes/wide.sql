-- Forty columns of the owner's, two of them demanded without a default.
-- old: INSERT INTO chats (workspace_id, role, content, tenant_code, "Priority") SELECT id, 'user', 'Hi', 't', 2 FROM workspaces WHERE name = 'Busy'
-- old: UPDATE chats SET extra_5 = content, extra_2 = '{"a": 1}' WHERE role = 'system'
ALTER TABLE chats ADD COLUMN extra_1 integer, ADD COLUMN extra_2 jsonb, ADD COLUMN extra_3 timestamp, ADD COLUMN
  extra_4 numeric(9, 2), ADD COLUMN extra_5 text, ADD COLUMN extra_6 integer, ADD COLUMN extra_7 jsonb, ADD COLUMN
  extra_8 timestamp, ADD COLUMN extra_9 numeric(9, 2), ADD COLUMN extra_10 text, ADD COLUMN extra_11 integer, ADD
  COLUMN extra_12 jsonb, ADD COLUMN extra_13 timestamp, ADD COLUMN extra_14 numeric(9, 2), ADD COLUMN extra_15
  text, ADD COLUMN extra_16 integer, ADD COLUMN extra_17 jsonb, ADD COLUMN extra_18 timestamp, ADD COLUMN extra_19
  numeric(9, 2), ADD COLUMN extra_20 text, ADD COLUMN extra_21 integer, ADD COLUMN extra_22 jsonb, ADD COLUMN
  extra_23 timestamp, ADD COLUMN extra_24 numeric(9, 2), ADD COLUMN extra_25 text, ADD COLUMN extra_26 integer, ADD
  COLUMN extra_27 jsonb, ADD COLUMN extra_28 timestamp, ADD COLUMN extra_29 numeric(9, 2), ADD COLUMN extra_30
  text, ADD COLUMN extra_31 integer, ADD COLUMN extra_32 jsonb, ADD COLUMN extra_33 timestamp, ADD COLUMN extra_34
  numeric(9, 2);
ALTER TABLE chats ADD COLUMN tenant_code text NOT NULL DEFAULT 'old', ADD COLUMN "Priority" smallint NOT NULL DEFAULT 1;
ALTER TABLE chats ALTER COLUMN tenant_code DROP DEFAULT, ALTER COLUMN "Priority" DROP DEFAULT;
