#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "shorten.h"

enum { members_max = 64, classes_max = 32, promoted_max = 8, constants_max = 128 };

typedef struct {
  unsigned long first, name, value, end;  // tokens; `value` follows the name or its `=`
  bool is_private, is_method;
} member;

typedef struct {
  const chirrup_script *in;
  unsigned char *out;
  const chirrup_token *classes[classes_max];
  unsigned long class_count;
  // Parameters of a constructor that are kept under their own name: they are that private field.
  const chirrup_token *promoted[promoted_max];
  unsigned long promoted_count;
  bool renames;  // inside of that constructor
  // `let NAME=value;` of the module, with one use.
  struct { const chirrup_token *name; unsigned long value, end; } constants[constants_max];
  unsigned long constant_count;
} writer;

static const char self[] = "$this";

static bool is_same(const chirrup_token *one, const chirrup_token *two) {
  return one->length == two->length && memcmp(one->at, two->at, one->length) == 0;
}

static bool is_listed(const chirrup_token *const *list, unsigned long count,
                      const chirrup_token *name) {
  for (unsigned long i = 0; i < count; i += 1) if (is_same(list[i], name)) return true;
  return false;
}

static void put(writer *to, const void *text, unsigned long length) {
  memcpy(to->out, text, length);
  to->out += length;
}

static void put_text(writer *to, const char *text) { put(to, text, strlen(text)); }

/// A private name as a variable that nothing else is called.
static void put_private(writer *to, const chirrup_token *name) {
  const bool is_marked = *name->at == '#';
  put(to, "$", 1);
  put(to, name->at + is_marked, name->length - is_marked);
}

/// Whether the field of this name, with its `#` or without, is a parameter of the constructor.
static bool is_promoted(const writer *to, const chirrup_token *name) {
  const bool is_marked = *name->at == '#';
  const chirrup_token bare = {.at = name->at + is_marked, .length = name->length - is_marked};
  return is_listed(to->promoted, to->promoted_count, &bare);
}

static void put_range(writer *to, unsigned long from, unsigned long end);

/// The value of a constant in place of its name, with parentheses where it has operators.
static bool put_constant(writer *to, const chirrup_token *name) {
  for (unsigned long i = 0; i < to->constant_count; i += 1) {
    if (!is_same(to->constants[i].name, name)) continue;
    const unsigned long from = to->constants[i].value, end = to->constants[i].end;
    const bool is_plain = end == from + 1 || to->in->of[from].partner + 1 == end;
    if (!is_plain) put(to, "(", 1);
    put_range(to, from, end);
    if (!is_plain) put(to, ")", 1);
    return true;
  }
  return false;
}

/// Whether `this.name=value;` stands at `at`, as a statement.
static bool is_assignment(const chirrup_script *in, unsigned long at) {
  const chirrup_token *const it = &in->of[at];
  return at > 0 && at + 4 < in->count && chirrup_equals(it, "this") && *it[1].at == '.' &&
         *it[2].at != '#' && *it[3].at == '=' && !memchr("=>", *it[4].at, 2) &&
         memchr(";{}", *it[-1].at, 3);
}

/// Whether nothing of the script ever reads a property: it is only set, as a field or by
/// `this.name=value;`.
static bool is_unread(const chirrup_script *in, const chirrup_token *name) {
  for (unsigned long i = 2; i + 1 < in->count; i += 1) {
    if (!is_same(&in->of[i], name)) continue;
    const bool is_field = in->of[i].is == role_other && memchr(";{}", *in->of[i - 1].at, 3) &&
                          memchr("=;", *in->of[i + 1].at, 2);
    if (!is_field && !is_assignment(in, i - 2)) return false;
  }
  return true;
}

/// Whether a brace encloses one simple statement, which says the same without it.
static bool is_single(const chirrup_script *in, unsigned long brace) {
  const chirrup_token *const of = in->of;
  static const char *const others[] = {"let", "if", "for", "while", "function", "class", "try",
                                       "switch", "do", "async"};
  const chirrup_token *before = brace > 0 ? &of[brace - 1] : NULL;
  if (!before || *of[brace].at != '{' || of[brace].length > 1) return false;
  if (*before->at == ')' && before->partner > 0) {
    const chirrup_token *const word = &of[before->partner - 1];
    if (!chirrup_equals(word, "if") && !chirrup_equals(word, "for")) return false;
  } else if (!chirrup_equals(before, "else")) {
    return false;
  }
  const unsigned long end = of[brace].partner;
  if (end <= brace + 1) return false;
  for (unsigned long i = 0; i < sizeof others / sizeof *others; i += 1) {
    if (chirrup_equals(&of[brace + 1], others[i])) return false;
  }
  for (unsigned long i = brace + 1; i < end; i += 1) {
    if (of[i].depth == of[brace].depth + 1 && memchr(";\n", *of[i].at, 2)) return false;
  }
  return true;
}

/// Copies tokens; `this.#name` becomes a variable, `this` the object, and `new` goes before ours.
static void put_range(writer *to, unsigned long from, unsigned long end) {
  const chirrup_token *const of = to->in->of;
  for (unsigned long i = from; i < end; i += 1) {
    const chirrup_token *const it = &of[i];
    if (is_assignment(to->in, i) && is_unread(to->in, it + 2)) {
      while (*of[i].at != ';' && *of[i + 1].at != '}') i = of[i].partner > i ? of[i].partner : i + 1;
    } else if (chirrup_equals(it, "this")) {
      if (*of[i + 1].at == '.' && *of[i + 2].at == '#') put_private(to, &of[i += 2]);
      else put_text(to, self);
    } else if (is_single(to->in, i) && of[i].partner < end) {
      const unsigned long last = of[i].partner;
      if (chirrup_equals(it - 1, "else")) put(to, " ", 1);
      put_range(to, i + 1, last);
      if (*of[last + 1].at != '}') put(to, ";", 1);
      i = last;
    } else if (chirrup_equals(it, "new") && is_listed(to->classes, to->class_count, it + 2)) {
      i += 1;
    } else if (it->is == role_variable && put_constant(to, it)) {
      continue;
    } else if (to->renames && it->is != role_other && is_promoted(to, it)) {
      if (it->is == role_shorthand) {
        put(to, it->at, it->length);
        put(to, ":", 1);
      }
      put_private(to, it);
    } else {
      put(to, it->at, it->length);
    }
  }
}

/// The members of a class; those of a constructor go into `maker`.
static unsigned long read_members(
    const chirrup_script *in, unsigned long brace, member *all, member *maker) {
  const chirrup_token *const of = in->of;
  unsigned long count = 0;
  for (unsigned long i = brace + 1; i < of[brace].partner && count < members_max;) {
    member it = {.first = i};
    while (chirrup_equals(&of[i], "async") || chirrup_equals(&of[i], "get")) i += 2;
    it.name = i++;
    it.is_private = *of[it.name].at == '#';
    it.is_method = *of[i].at == '(';
    it.value = i + (*of[i].at == '=');
    if (it.is_method) {
      it.end = of[of[i].partner + 1].partner + 1;
    } else {
      while (i < of[brace].partner && *of[i].at != ';') i = of[i].partner > i ? of[i].partner : i + 1;
      it.end = i;
    }
    i = it.end + (*of[it.end].at == ';');
    if (chirrup_equals(&of[it.name], "constructor")) *maker = it;
    else all[count++] = it;
  }
  return count;
}

/// Whether `this.#name=name;` stands at `at`.
static bool is_promotion(const chirrup_script *in, unsigned long at) {
  const chirrup_token *const it = &in->of[at];
  return chirrup_equals(it, "this") && *it[1].at == '.' && *it[2].at == '#' && *it[3].at == '=' &&
         it[4].is == role_variable && it[2].length == it[4].length + 1 &&
         memcmp(it[2].at + 1, it[4].at, it[4].length) == 0 && memchr(";}", *it[5].at, 2);
}

static void promote(writer *to, const member *maker) {
  const chirrup_token *const of = to->in->of;
  const unsigned long body = maker->end > 0 ? of[maker->value].partner + 1 : 0;
  to->promoted_count = 0;
  for (unsigned long i = body; i < maker->end && to->promoted_count < promoted_max; i += 1) {
    if (!is_promotion(to->in, i)) continue;
    for (unsigned long at = maker->value; at < body; at += 1) {
      if (!is_same(&of[at], &of[i + 4])) continue;
      to->promoted[to->promoted_count++] = &of[i + 4];
      break;
    }
  }
}

/// The fields and methods that are seen from outside, as an object.
static void put_public(writer *to, const member *all, unsigned long count) {
  bool is_first = true;
  put_text(to, "{let ");
  put_text(to, self);
  put_text(to, "={");
  for (const member *it = all; it < all + count; it += 1) {
    if (it->is_private || it->end == it->value) continue;
    if (!it->is_method && is_unread(to->in, &to->in->of[it->name])) continue;
    if (!is_first) put(to, ",", 1);
    is_first = false;
    if (it->is_method) {
      put_range(to, it->first, it->end);
    } else {
      put_range(to, it->name, it->name + 1);
      put(to, ":", 1);
      put_range(to, it->value, it->end);
    }
  }
  put(to, "}", 1);
}

/// The private ones, as variables and functions.
static void put_privates(writer *to, const member *all, unsigned long count) {
  const chirrup_token *const of = to->in->of;
  for (const member *it = all; it < all + count; it += 1) {
    if (!it->is_private || it->is_method || is_promoted(to, &of[it->name])) continue;
    put(to, ",", 1);
    put_private(to, &of[it->name]);
    if (it->value == it->end) continue;
    put(to, "=", 1);
    put_range(to, it->value, it->end);
  }
  put(to, ";", 1);
  for (const member *it = all; it < all + count; it += 1) {
    if (!it->is_private || !it->is_method) continue;
    put_range(to, it->first, it->name);
    put_text(to, "function ");
    put_private(to, &of[it->name]);
    put_range(to, it->value, it->end);
  }
}

/// What a constructor does, but for keeping its parameters.
static void put_maker(writer *to, unsigned long body, unsigned long end) {
  unsigned long from = body + 1;
  to->renames = true;
  for (unsigned long i = from; i < end; i += 1) {
    if (!is_promotion(to->in, i) || !is_promoted(to, &to->in->of[i + 4])) continue;
    put_range(to, from, i);
    from = i + 5 + (*to->in->of[i + 5].at == ';');
  }
  put_range(to, from, end);
  to->renames = false;
}

/// `class A{#x;y=1;constructor(x){this.#x=x}}` as `function A($x){let $this={y:1};return $this}`.
/// Returns the token behind.
static unsigned long put_class(writer *to, unsigned long at) {
  const chirrup_token *const of = to->in->of;
  const unsigned long brace = at + 3;
  member all[members_max], maker = {0};
  const unsigned long count = read_members(to->in, brace, all, &maker);
  const unsigned long body = maker.end > 0 ? of[maker.value].partner + 1 : 0;
  promote(to, &maker);
  put_text(to, "function ");
  put(to, of[at + 2].at, of[at + 2].length);
  to->renames = true;
  if (body > 0) put_range(to, maker.value, body);
  else put_text(to, "()");
  to->renames = false;
  put_public(to, all, count);
  put_privates(to, all, count);
  if (body > 0) put_maker(to, body, maker.end - 1);
  if (!memchr(";{", to->out[-1], 2)) put(to, ";", 1);
  put_text(to, "return ");
  put_text(to, self);
  put(to, "}", 1);
  return of[brace].partner + 1;
}

static bool is_constant(const chirrup_token *name) {
  for (unsigned long i = 0; i < name->length; i += 1) {
    const unsigned char byte = name->at[i];
    if (!(byte >= 'A' && byte <= 'Z') && byte != '_') return false;
  }
  return name->length > 1 && name->is == role_variable;
}

/// Behind a constant that stands at `at` and goes, or `at`.
static unsigned long behind_constant(const writer *to, unsigned long at) {
  for (unsigned long i = 0; i < to->constant_count; i += 1) {
    if (to->constants[i].value == at + 4) return to->constants[i].end + 1;
  }
  return at;
}

/// Remembers a constant that has one use.
static void read_constant(writer *to, unsigned long at) {
  const chirrup_token *const of = to->in->of;
  const bool is_start = at + 4 < to->in->count && of[at].depth == 0 &&
                        chirrup_equals(&of[at], "let") && is_constant(&of[at + 2]) &&
                        *of[at + 3].at == '=';
  if (!is_start || to->constant_count == constants_max) return;
  unsigned long uses = 0, end = at + 4;
  for (unsigned long i = 0; i < to->in->count; i += 1) {
    uses += of[i].is == role_variable && is_same(&of[i], &of[at + 2]);
  }
  while (*of[end].at != ';') end = of[end].partner > end ? of[end].partner : end + 1;
  if (uses != 2) return;
  to->constants[to->constant_count].name = &of[at + 2];
  to->constants[to->constant_count].value = at + 4;
  to->constants[to->constant_count++].end = end;
}

unsigned long chirrup_open_classes(
    const unsigned char *script, unsigned long length, unsigned char *out) {
  chirrup_script read = chirrup_read(script, length);
  writer to = {.in = &read, .out = out};
  for (unsigned long i = 0; i + 2 < read.count; i += 1) {
    const bool is_class = chirrup_equals(&read.of[i], "class") && *read.of[i + 3].at == '{';
    if (is_class && to.class_count < classes_max) to.classes[to.class_count++] = &read.of[i + 2];
  }
  for (unsigned long i = 0; i < read.count; i += 1) read_constant(&to, i);
  for (unsigned long i = 0; i < read.count;) {
    const bool is_class = chirrup_equals(&read.of[i], "class") &&
                          is_listed(to.classes, to.class_count, &read.of[i + 2]);
    if (is_class) {
      i = put_class(&to, i);
    } else {
      const unsigned long begin = behind_constant(&to, i);
      unsigned long end = begin;
      while (end < read.count && !chirrup_equals(&read.of[end], "class") &&
             behind_constant(&to, end) == end) end += 1;
      put_range(&to, begin, end);
      i = end;
    }
  }
  if (read.count == 0) put(&to, script, length);  // no memory: longer, but right
  chirrup_forget(&read);
  return (unsigned long)(to.out - out);
}
