#include "shorten.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

enum { variables_max = 1024, letters = 52, ordinals = 11, names_max = letters * ordinals,
       depth_max = 64 };

/// Everything in the script that has this name. `text` is the new one.
typedef struct {
  const chirrup_token *name;
  unsigned long uses, shorthands;
  unsigned char text[2];
  unsigned long length;  // 0: none yet
  bool is_exported, is_kept, is_property;
  unsigned long *own;  // the scopes that name it themselves
  unsigned long *all;  // those and all around them; in the end those below one of `own` only
} variable;

typedef struct {
  variable of[variables_max];
  unsigned long count;
  unsigned long *bits, words;  // those of the scopes of all variables
} variables;

static bool is_private(const chirrup_token *word) { return *word->at == '#'; }

static variable *find(variables *known, const chirrup_token *name, bool is_property) {
  for (unsigned long i = 0; i < known->count; i += 1) {
    const chirrup_token *const other = known->of[i].name;
    if (known->of[i].is_property != is_property) continue;
    if (other->length == name->length && memcmp(other->at, name->at, name->length) == 0) {
      return &known->of[i];
    }
  }
  return NULL;
}

static void set(unsigned long *bits, unsigned long at) { bits[at / 64] |= 1UL << at % 64; }

static bool has(const unsigned long *bits, unsigned long at) {
  return (bits[at / 64] >> at % 64 & 1) != 0;
}

/// Leaves in `all` the scopes that can see a declaration of the variable.
static void see(const chirrup_script *script, variable *it) {
  bool *const sees = calloc(script->scopes, sizeof *sees);
  if (!sees) return;
  for (unsigned i = 0; i < script->scopes; i += 1) {
    sees[i] = has(it->own, i) || sees[script->parents[i]];
    if (!sees[i]) it->all[i / 64] &= ~(1UL << i % 64);
  }
  free(sees);
}

/// Whether a word is one of `names`, which stand between spaces.
static bool is_inner(const chirrup_token *word, const char *names) {
  for (const char *at = names; at && *at; at += strcspn(at, " ") + 1) {
    if (strcspn(at, " ") == word->length && memcmp(at, word->at, word->length) == 0) return true;
    if (!at[strcspn(at, " ")]) break;
  }
  return false;
}

/// The inner properties. They are all in one scope with each other and with what is not ours.
static void count_properties(const chirrup_script *script, variables *known, const char *names) {
  for (unsigned long i = 0; i < script->count; i += 1) {
    const chirrup_token *const word = &script->of[i];
    if (word->is == role_variable || !is_inner(word, names)) continue;
    variable *it = find(known, word, true);
    if (!it && known->count < variables_max) {
      unsigned long *const bits = known->bits + 2 * known->words * known->count;
      it = &known->of[known->count++];
      *it = (variable){.name = word, .is_property = true, .own = bits, .all = bits + known->words};
      set(it->own, 0);
      set(it->all, 0);
    }
    if (it) it->uses += 1;
  }
}

/// Every name with its uses and the scopes that mention it.
static void count(const chirrup_script *script, variables *known) {
  bool is_exported = false;
  for (unsigned long i = 0; i < script->count; i += 1) {
    const chirrup_token *const word = &script->of[i];
    if (chirrup_equals(word, "export")) is_exported = true;
    if (word->is == role_other) continue;
    variable *it = find(known, word, false);
    if (!it && known->count < variables_max) {
      unsigned long *const bits = known->bits + 2 * known->words * known->count;
      it = &known->of[known->count++];
      *it = (variable){.name = word, .own = bits, .all = bits + known->words};
    }
    if (!it) continue;
    it->uses += 1;
    it->shorthands += word->is == role_shorthand;
    it->is_exported |= is_exported;
    is_exported = false;
    unsigned scope = is_private(word) ? word->class : word->scope;
    set(it->own, scope);
    for (; scope > 0; scope = script->parents[scope]) set(it->all, scope);
    set(it->all, 0);
  }
  for (unsigned long i = 0; i < known->count; i += 1) see(script, &known->of[i]);
}

/// Whether two variables need different names. Where a scope declares one, it names it itself. If
/// the other is named there or anywhere inside, and may have been declared there or around it, the
/// one would be taken for the other.
static bool meet(const variable *one, const variable *two, unsigned long words) {
  for (unsigned long i = 0; i < words; i += 1) {
    if ((one->own[i] & two->all[i]) | (two->own[i] & one->all[i])) return true;
  }
  return false;
}

/// The letters that scripts are full of come first, for they have short codes already; this order
/// was found by trial on the widget.
static const char alphabet[] = "itendraoglscuhmpTybkvwxEfqAMCLRDHINOPFBJUGWXYSjzQZKV";

/// `e` … `V`, then `a0` … `Z9`.
static void spell(variable *it, unsigned long number) {
  it->text[0] = (unsigned char)alphabet[number % letters];
  it->text[1] = (unsigned char)('0' + number / letters - 1);
  it->length = number < letters ? 1 : 2;
}

static void keep(variable *it) {
  it->is_kept = true;
  it->length = it->name->length;
  memcpy(it->text, it->name->at, it->length < 2 ? it->length : 2);
}

/// The first name that no other variable has which it meets.
static void name(const variables *known, variable *it) {
  bool is_taken[names_max] = {false};
  if (it->is_property) is_taken['n' - 'a'] = is_taken['d' - 'a'] = true;  // the platform and ours
  for (unsigned long i = 0; i < known->count; i += 1) {
    const variable *const other = &known->of[i];
    if (other->length == 0 || other->is_property != it->is_property) continue;
    if (is_private(other->name) != is_private(it->name)) continue;
    if (!meet(it, other, known->words)) continue;
    for (unsigned long n = 0; n < names_max; n += 1) {
      variable as;
      spell(&as, n);
      is_taken[n] |= as.length == other->length && memcmp(as.text, other->text, as.length) == 0;
    }
  }
  unsigned long n = 0;
  while (n < names_max && is_taken[n]) n += 1;
  if (n < names_max) spell(it, n);
  else keep(it);
}

/// The most used get the shortest. A name that is exported, or often stands for a property too
/// (`{ id }`), keeps it, since there the short one would come on top.
static void name_all(variables *known) {
  for (unsigned long i = 0; i < known->count; i += 1) {
    variable *const it = &known->of[i];
    if (it->is_exported || it->shorthands * 3 >= it->uses * 2) keep(it);
  }
  for (;;) {
    variable *most = NULL;
    for (unsigned long i = 0; i < known->count; i += 1) {
      variable *const it = &known->of[i];
      if (it->length == 0 && (!most || it->uses > most->uses)) most = it;
    }
    if (!most) return;
    name(known, most);
  }
}

/// For each open bracket, whether the statement is a declaration, and whether the last one was.
typedef struct {
  bool is_declaration[depth_max + 1], was_declaration[depth_max + 1];
} statements;

/// `let a=1;let b=2` says the same as `let a=1,b=2`. Whether `word` is to be left out.
static bool joins(statements *all, const chirrup_token *word, unsigned char *last) {
  const unsigned at = word->depth < depth_max ? word->depth : depth_max;
  if (chirrup_is_one_of(word, "([{")) {
    all->is_declaration[at + 1 < depth_max ? at + 1 : depth_max] = false;
    all->was_declaration[at + 1 < depth_max ? at + 1 : depth_max] = false;
  }
  if (chirrup_is_one_of(word, ";")) {
    all->was_declaration[at] = all->is_declaration[at];
    all->is_declaration[at] = false;
  }
  if (!chirrup_equals(word, "let")) return false;
  all->is_declaration[at] = true;
  if (!last || *last != ';' || !all->was_declaration[at]) return false;
  *last = ',';
  return true;
}

static unsigned char *copy(unsigned char *out, const void *text, unsigned long length) {
  memcpy(out, text, length);
  return out + length;
}

/// A name, as it is called now.
static unsigned char *copy_name(unsigned char *out, variables *known, const chirrup_token *word) {
  const variable *const it = find(known, word, false);
  const variable *const property = find(known, word, true);
  if (word->is == role_shorthand && (property || (it && !it->is_kept))) {
    out = property ? copy(out, property->text, property->length)
                   : copy(out, word->at, word->length);
    *out++ = ':';
  }
  if (!it || it->is_kept) return copy(out, word->at, word->length);
  if (is_private(word)) *out++ = '#';
  return copy(out, it->text, it->length);
}

/// Whether the parentheses that begin with `word` enclose one name or literal that needs none:
/// `(a)=>` is `a=>`, and what only had its type noted is itself.
static bool is_bare(const chirrup_script *script, const chirrup_token *word) {
  const unsigned long at = (unsigned long)(word - script->of);
  if (!chirrup_is_one_of(word, "(") || word->partner != at + 2 || at == 0) return false;
  if (word[1].is == role_variable) {
    return at + 4 < script->count && *word[3].at == '=' && *word[4].at == '>';
  }
  return chirrup_equals(&word[1], "null") && chirrup_is_one_of(word - 1, "=:");
}

/// Whether the parentheses that begin with `word` are those of `new Map()`, which says the same
/// without them unless a property follows.
static bool is_empty_call(const chirrup_script *script, const chirrup_token *word) {
  const unsigned long at = (unsigned long)(word - script->of);
  return chirrup_is_one_of(word, "(") && word->partner == at + 1 && at >= 3 &&
         chirrup_equals(word - 3, "new") && !chirrup_is_one_of(word + 2, ".[(");
}

/// Whether the space before `word` parts nothing any more.
static bool is_needless(const chirrup_token *space) {
  return chirrup_is_one_of(space, " ") && (chirrup_equals(space + 1, "true") ||
         chirrup_equals(space + 1, "false") || memchr("'`", *space[1].at, 2));
}

/// `10_000` is `10000` and `1e4`, `true` is `!0`.
static unsigned char *copy_literal(unsigned char *out, const chirrup_token *word) {
  if (chirrup_equals(word, "true")) return copy(out, "!0", 2);
  if (chirrup_equals(word, "false")) return copy(out, "!1", 2);
  const bool is_number = *word->at >= '1' && *word->at <= '9';
  if (!is_number) return copy(out, word->at, word->length);
  unsigned char *const begin = out;
  unsigned long zeros = 0;
  for (unsigned long i = 0; i < word->length; i += 1) {
    const unsigned char digit = word->at[i];
    if (digit == '_') continue;
    zeros = digit == '0' ? zeros + 1 : 0;
    *out++ = digit;
  }
  if (zeros < 3 || zeros > 9 || (unsigned long)(out - begin) <= zeros) return out;
  out -= zeros;
  *out++ = 'e';
  *out++ = (unsigned char)('0' + zeros);
  return out;
}

static unsigned long write_out(
    const chirrup_script *script, variables *known, unsigned char *const begin) {
  unsigned char *out = begin;
  statements all = {0};
  for (unsigned long i = 0; i < script->count; i += 1) {
    const chirrup_token *const word = &script->of[i];
    if (joins(&all, word, out > begin ? out - 1 : NULL)) {
      if (chirrup_is_one_of(word + 1, " ")) i += 1;
    } else if (is_empty_call(script, word)) {
      i += 1;
    } else if (is_needless(word)) {
      continue;
    } else if (is_bare(script, word)) {
      if (chirrup_equals(word - 1, "async")) *out++ = ' ';
      out = word[1].is == role_variable ? copy_name(out, known, word + 1) : copy(out, "null", 4);
      i += 2;
    } else if (word->is == role_other) {
      const variable *const property = find(known, word, true);
      out = property ? copy(out, property->text, property->length) : copy_literal(out, word);
    } else {
      out = copy_name(out, known, word);
    }
  }
  return (unsigned long)(out - begin);
}

unsigned long chirrup_shorten(
    const unsigned char *script, unsigned long length, const char *inner, unsigned char *out) {
  chirrup_script read = chirrup_read(script, length);
  variables *const known = calloc(1, sizeof *known);
  if (known) {
    known->words = read.scopes / 64 + 1;
    known->bits = calloc(2 * known->words * variables_max, sizeof *known->bits);
  }
  if (read.count > 0 && known && known->bits) {
    count(&read, known);
    count_properties(&read, known, inner);
    name_all(known);
    length = write_out(&read, known, out);
  } else {
    memcpy(out, script, length);  // no memory: longer, but right
  }
  if (known) free(known->bits);
  free(known);
  chirrup_forget(&read);
  return length;
}
