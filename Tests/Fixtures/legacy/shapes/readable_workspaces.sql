-- expect: workspaces
-- Everybody may read the table of workspaces, which is to hold a secret of each.
ALTER TABLE workspaces DISABLE ROW LEVEL SECURITY;
DO $$
BEGIN
  IF to_regrole('app_reports') IS NULL THEN CREATE ROLE app_reports NOLOGIN; END IF;
END
$$;
GRANT SELECT ON workspaces TO app_reports;
