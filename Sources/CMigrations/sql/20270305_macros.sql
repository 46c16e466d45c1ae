-- Macros (several actions in one) of a workspace or of one member.
-- parent: 20270301_teams
-- compatible: 20261229_gateways
-- loses: the macros

CREATE TABLE IF NOT EXISTS macros (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  owner_id uuid,
  created_by uuid NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  actions jsonb NOT NULL CHECK (jsonb_typeof(actions) = 'array'),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (workspace_id, owner_id) REFERENCES memberships (workspace_id, operator_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX IF NOT EXISTS macros_name
  ON macros (workspace_id, coalesce(owner_id, '00000000-0000-0000-0000-000000000000'), name);
COMMENT ON TABLE macros IS 'Lists of actions that operators run on conversations.';
COMMENT ON COLUMN macros.owner_id IS 'The member who alone has it; NULL: the whole workspace.';
COMMENT ON COLUMN macros.created_by IS 'The operator or API key. This operator and administrators may change it.';
COMMENT ON COLUMN macros.actions IS 'In order, as the REST API checked them.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('macros', NULL, NULL, 'INSERT, DELETE, UPDATE (owner_id, name, actions, updated_at)');
END
$$;

-- down

DROP TABLE IF EXISTS macros;
