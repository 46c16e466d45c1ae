-- base: broken_chain
-- expect: intents.name
INSERT INTO intents (name, keyword) VALUES ('hours', 'open?');
