-- base: broken_chain
-- expect: intents
-- The LINE back end without alembic_version, with other columns of intents.
DROP TABLE alembic_version;
ALTER TABLE intents RENAME COLUMN name TO intent_name;
