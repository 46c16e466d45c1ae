// Sources to be read, bytes to be sent: joins modules or sheets and leaves out what only readers need.
#pragma once

typedef struct {
  const unsigned char *bytes;
  unsigned long length;
} chirrup_part;

/// Joins ECMAScript modules into one: the parts stand in the order of their dependencies and share no top-level
/// name, so `import` lines are dropped and `export` is cut off except in the last. Comments and indentation go too. Relies on how our
/// sources are written: one import per line, the marks of comments nowhere else. Returns the length in `out`, which
/// has room for all parts.
unsigned long chirrup_pack_modules(const chirrup_part *parts, unsigned long count, unsigned char *out);

/// The same for style sheets.
unsigned long chirrup_pack_styles(const chirrup_part *parts, unsigned long count, unsigned char *out);
