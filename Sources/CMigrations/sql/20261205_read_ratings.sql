-- The list of conversations shows ratings: the gateway's readers may read them, like tags.
-- parent: 20261204_claim_by_reply
-- loses: nothing

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    GRANT SELECT (workspace_id, session_id, rating, comment) ON csat_responses TO chirrup_reader;
  END IF;
END
$$;

-- down

DO $$
BEGIN
  IF to_regrole('chirrup_reader') IS NOT NULL THEN
    REVOKE SELECT (workspace_id, session_id, rating, comment) ON csat_responses FROM chirrup_reader;
  END IF;
END
$$;
