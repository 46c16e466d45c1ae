-- base: broken_chain
-- A LINE back end whose migrations lack their first revision.
SELECT 1;
