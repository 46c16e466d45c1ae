-- base: broken_chain
-- expect: intents.name
-- Two intents of the LINE back end with one name
INSERT INTO intents (name, keyword) VALUES ('hours', 'open?');
