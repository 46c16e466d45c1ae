-- Saved views (filters of the list of conversations by name) of a workspace or of one member.
-- parent: 20270305_macros
-- compatible: 20261229_gateways
-- loses: the saved views

CREATE TABLE IF NOT EXISTS saved_views (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  owner_id uuid,
  created_by uuid NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  filters jsonb NOT NULL CHECK (jsonb_typeof(filters) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (workspace_id, owner_id) REFERENCES memberships (workspace_id, operator_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX IF NOT EXISTS saved_views_name
  ON saved_views (workspace_id, coalesce(owner_id, '00000000-0000-0000-0000-000000000000'), name);
COMMENT ON TABLE saved_views IS 'Filters of the list of conversations by name.';
COMMENT ON COLUMN saved_views.owner_id IS 'The member who alone has it; NULL: the whole workspace.';
COMMENT ON COLUMN saved_views.created_by IS 'The operator or API key. This operator and administrators may change it.';
COMMENT ON COLUMN saved_views.filters IS 'Parameters of the list as texts, as the REST API checked them.';

DO $$
BEGIN
  IF to_regrole('chirrup_gateway') IS NULL OR to_regrole('chirrup_reader') IS NULL THEN RETURN; END IF;
  PERFORM chirrup_secure('saved_views', NULL, NULL, 'INSERT, DELETE, UPDATE (owner_id, name, filters, updated_at)');
END
$$;

-- down

DROP TABLE IF EXISTS saved_views;
