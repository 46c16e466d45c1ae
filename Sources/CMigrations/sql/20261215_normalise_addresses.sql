-- The addresses of operators are compared in one normal form, by one function.
-- parent: 20261212_delete_conversations
-- loses: nothing

-- Compatibility forms are composed (NFKC), then letters are lowercased: ASCII letters in every locale, also in
-- Turkish ones; others by the database's locale. U+0130 becomes i and a combining dot (SpecialCasing.txt), so that
-- it never becomes an i.
CREATE OR REPLACE FUNCTION chirrup_address(address text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
AS $f$
  SELECT lower(lower(replace(normalize(address, NFKC), U&'\0130', U&'i\0307') COLLATE "C") COLLATE "default")
$f$;
COMMENT ON FUNCTION chirrup_address(text) IS 'The normal form of an e-mail address, by which accounts are found.';

DO $$
DECLARE
  twins text;
BEGIN
  SELECT string_agg(format('%s (%s)', email, id), ', ' ORDER BY id) INTO twins FROM operators
  WHERE chirrup_address(email) IN
    (SELECT chirrup_address(email) FROM operators GROUP BY 1 HAVING count(*) > 1);
  IF twins IS NOT NULL THEN
    RAISE EXCEPTION 'several operators have the same address in normal form: %', twins
      USING HINT = 'Give all but one of them another address (UPDATE operators SET email = …), then migrate again.';
  END IF;
END
$$;
CREATE UNIQUE INDEX IF NOT EXISTS operators_address_key ON operators (chirrup_address(email));

-- down

DROP INDEX IF EXISTS operators_address_key;
DROP FUNCTION IF EXISTS chirrup_address(text);
