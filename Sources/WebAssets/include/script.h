// A packed script as tokens that know their scope: what `chirrup_shorten` has to understand of
// ECMAScript, and no more.
#pragma once

#include <stdbool.h>

typedef enum { role_other, role_variable, role_shorthand } chirrup_role;

/// A stretch of the script: a word, a sign, a string.
typedef struct {
  const unsigned char *at;
  unsigned long length;
  chirrup_role is;
  unsigned depth;    // of open brackets
  unsigned partner;  // of a bracket: where it closes or was opened
  unsigned scope;    // the innermost one around it
  unsigned class;    // the same for private names
  bool begins, is_class;
  unsigned ends;  // how many scopes it is the last token of
} chirrup_token;

typedef struct {
  chirrup_token *of;
  unsigned long count;
  unsigned *parents;  // of the scopes; the first is the module and its own parent
  unsigned scopes;
} chirrup_script;

bool chirrup_equals(const chirrup_token *word, const char *text);
bool chirrup_is_one_of(const chirrup_token *sign, const char *signs);

/// Reads it. To be given back with `chirrup_forget`; without tokens where there is no memory.
chirrup_script chirrup_read(const unsigned char *script, unsigned long length);
void chirrup_forget(chirrup_script *script);
