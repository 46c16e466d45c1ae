-- Times without end, and a body of 1 MB.
UPDATE chats SET created_at = 'infinity' WHERE role = 'system';
UPDATE chats SET created_at = '-infinity' WHERE content = 'same instant 3';
UPDATE chats SET content = repeat('x', 1000000) WHERE content = 'same instant 4';
