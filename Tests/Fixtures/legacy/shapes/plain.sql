-- A workspace chat as it is, without sessions.
SELECT 1;
