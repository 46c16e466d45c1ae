// Sources to be read, bytes to be sent: joins modules or sheets and leaves out what only readers
// need.
#pragma once

typedef struct {
  const unsigned char *bytes;
  unsigned long length;
} chirrup_part;

/// Joins ECMAScript modules into one. The parts stand in the order of their dependencies and share
/// no top-level name, so imports are dropped, and `export` too except in the last. Comments and
/// needless spaces go, private names get short ones; everything else stays. Relies on how our
/// sources are written: an import has its own line, a statement that ends with a brace its
/// semicolon, and a regular expression holds no quote, no space and nothing that looks like a
/// comment. Returns the length in `out`, which has room for all parts and a line break behind each.
unsigned long chirrup_pack_modules(
    const chirrup_part *parts, unsigned long count, unsigned char *out);

/// The same for style sheets.
unsigned long chirrup_pack_styles(
    const chirrup_part *parts, unsigned long count, unsigned char *out);

/// A file of languages/ as a module: its texts alone, a line each, in the order of the names in
/// `places(`…`)` of `list`. What it lacks comes from `instead`. Relies on one pair a line, written
/// `"name": "text"`, and on texts without quotes, backslashes and `$`. `out` has room for both files.
unsigned long chirrup_pack_words(
    chirrup_part list, chirrup_part texts, chirrup_part instead, unsigned char *out);
