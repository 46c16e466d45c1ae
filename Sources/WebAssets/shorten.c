#include "shorten.h"

#include <stdbool.h>
#include <string.h>

enum { nesting_max = 64, variables_max = 512, letters = 52 };

/// A stretch of the script: a word, a sign, a string.
typedef struct {
  const unsigned char *at;
  unsigned long length;
} token;

/// What the innermost open bracket encloses. Words in an object or a class may be names of
/// properties, which are seen from outside and stay.
typedef enum { place_list, place_block, place_object, place_class, place_template } place;

typedef struct {
  const unsigned char *at;
  const unsigned char *end;
  place places[nesting_max];
  unsigned depth;
  token last, last_but_one;  // neither counts spaces
  bool is_class_ahead;
} reader;

typedef struct {
  token name;
  unsigned long uses, shorthands;
  unsigned char text[2];
  unsigned long length;  // 0: keeps its name
} variable;

typedef struct {
  variable of[variables_max];
  unsigned long count;
} variables;

typedef enum { role_other, role_variable, role_shorthand } role;

/// What is no variable of ours: the language, and what we use of the platform. A global that is
/// missing here becomes a name that nobody knows, so its first use fails and cannot be overlooked.
static const char *const reserved[] = {
    "AbortSignal", "Array", "Blob", "Boolean", "BroadcastChannel", "CSSStyleSheet", "Date", "Error",
    "Infinity", "Intl", "JSON", "Map", "Math", "Number", "Object", "Promise", "ResizeObserver",
    "Set", "String", "TextEncoder", "URL", "Uint8Array", "WebSocket", "addEventListener", "async",
    "await", "break", "case", "catch", "class", "clearInterval", "clearTimeout", "console", "const",
    "constructor", "continue", "crypto", "default", "delete", "do", "document", "else",
    "encodeURIComponent", "export", "extends", "false", "fetch", "finally", "for", "function",
    "get", "if", "import", "in", "indexedDB", "instanceof", "let", "localStorage", "location",
    "matchMedia", "navigator", "new", "null", "of", "requestAnimationFrame", "return",
    "sessionStorage", "set", "setInterval", "setTimeout", "static", "switch", "this", "throw",
    "true", "try", "typeof", "undefined", "while", "window"};

static bool is_start(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '$';
}

static bool is_word(unsigned char byte) { return is_start(byte) || (byte >= '0' && byte <= '9'); }

static bool equals(token word, const char *text) {
  return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

static bool is_reserved(token word) {
  for (unsigned long i = 0; i < sizeof reserved / sizeof *reserved; i += 1) {
    if (equals(word, reserved[i])) return true;
  }
  return false;
}

static bool is_one_of(token sign, const char *signs) {
  return sign.length == 1 && memchr(signs, *sign.at, strlen(signs)) != NULL;
}

static place innermost(const reader *in) {
  return in->depth == 0 ? place_block : in->places[in->depth - 1];
}

static void enter(reader *in, place into) {
  if (in->depth < nesting_max) in->places[in->depth] = into;
  in->depth += 1;
}

/// Behind a string, or up to the code in a template.
static void skip_quoted(reader *in, unsigned char quote) {
  while (in->at < in->end) {
    const unsigned char byte = *in->at++;
    if (byte == '\\') in->at += 1;
    else if (byte == quote) return;
    else if (quote == '`' && byte == '$' && *in->at == '{') {
      in->at += 1;
      return enter(in, place_template);
    }
  }
}

static void skip_expression(reader *in) {
  for (bool is_set = false; *in->at != '/' || is_set; in->at += 1) {
    if (*in->at == '\\') in->at += 1;
    else if (*in->at == '[') is_set = true;
    else if (*in->at == ']') is_set = false;
  }
  in->at += 1;
  while (is_word(*in->at)) in->at += 1;
}

/// What a brace opens shows in what stands before it.
static place opened(reader *in) {
  if (in->is_class_ahead) {
    in->is_class_ahead = false;
    return place_class;
  }
  const token last = in->last;
  const bool is_arrow = is_one_of(last, ">") && is_one_of(in->last_but_one, "=");
  const bool is_block = last.length == 0 || is_arrow || is_one_of(last, "){};\n") ||
                        equals(last, "else") || equals(last, "try") || equals(last, "finally") ||
                        equals(last, "catch") || equals(last, "do");
  return is_block ? place_block : place_object;
}

/// Moves over one token and returns it; a string, a number or a private name counts as one.
static token next(reader *in) {
  const unsigned char *const begin = in->at;
  const unsigned char byte = *in->at++;
  if (is_start(byte) || byte == '#' || (byte >= '0' && byte <= '9')) {
    while (in->at < in->end && is_word(*in->at)) in->at += 1;
  } else if (byte == '\'' || byte == '"' || byte == '`') {
    skip_quoted(in, byte);
  } else if (byte == '/' && (is_one_of(in->last, "(,=:[!&|?{};") || equals(in->last, "return"))) {
    skip_expression(in);
  } else if (byte == '(' || byte == '[') {
    enter(in, place_list);
  } else if (byte == '{') {
    enter(in, opened(in));
  } else if (byte == ')' || byte == ']' || byte == '}') {
    const bool is_template = innermost(in) == place_template;
    if (in->depth > 0) in->depth -= 1;
    if (is_template) skip_quoted(in, '`');
  }
  return (token){begin, (unsigned long)(in->at - begin)};
}

static void remember(reader *in, token word) {
  if (is_one_of(word, " ")) return;
  if (equals(word, "class")) in->is_class_ahead = true;
  in->last_but_one = in->last;
  in->last = word;
}

static bool is_private(token word) { return *word.at == '#'; }

static role role_of(const reader *in, token word) {
  if (is_private(word)) return role_variable;
  if (!is_start(*word.at) || is_reserved(word)) return role_other;
  const token last = in->last;
  if (is_one_of(last, ".") && !is_one_of(in->last_but_one, ".")) return role_other;
  const bool is_marked =
      equals(last, "get") || equals(last, "set") || equals(last, "async") || equals(last, "static");
  const place around = innermost(in);
  if (around == place_class && (is_marked || is_one_of(last, "{};\n"))) return role_other;
  if (around == place_object && (is_marked || is_one_of(last, "{,"))) {
    const unsigned char after = in->at < in->end ? *in->at : 0;
    return after == ',' || after == '}' || after == '=' ? role_shorthand : role_other;
  }
  return role_variable;
}

static variable *find(variables *known, token name) {
  for (unsigned long i = 0; i < known->count; i += 1) {
    const token other = known->of[i].name;
    if (other.length == name.length && memcmp(other.at, name.at, name.length) == 0) {
      return &known->of[i];
    }
  }
  return NULL;
}

static void count(reader in, variables *known) {
  bool is_exported = false;
  while (in.at < in.end) {
    const token word = next(&in);
    const role is = role_of(&in, word);
    if (equals(word, "export")) is_exported = true;
    if (is != role_other) {
      variable *it = find(known, word);
      if (!it && known->count < variables_max) {
        it = &known->of[known->count++];
        *it = (variable){.name = word};
      }
      if (it) {
        it->uses += 1;
        // An exported name is seen from outside.
        it->shorthands += is_exported ? variables_max : is == role_shorthand;
      }
      is_exported = false;
    }
    remember(&in, word);
  }
}

/// The most used get the shortest: `a` … `Z`, then `a0` … `Z9`. A name that often stands for a
/// property too (`{ id }`) keeps it, since there the short one would come on top. Private names have
/// letters of their own.
static void name(variables *known, bool are_private) {
  for (unsigned long given = 0;;) {
    variable *most = NULL;
    for (unsigned long i = 0; i < known->count; i += 1) {
      variable *it = &known->of[i];
      const bool is_free = it->length == 0 && it->shorthands * 8 < it->uses &&
                           is_private(it->name) == are_private;
      if (is_free && (!most || it->uses > most->uses)) most = it;
    }
    if (!most || given >= letters * 11) return;
    for (bool is_taken = true; is_taken; given += 1) {
      const unsigned char letter = (unsigned char)(given % letters);
      most->text[0] = (unsigned char)(letter < 26 ? 'a' + letter : 'A' + letter - 26);
      most->text[1] = (unsigned char)('0' + given / letters - 1);
      most->length = given < letters ? 1 : 2;
      const variable *same = find(known, (token){most->text, most->length});
      is_taken = same && same->length == 0;
    }
  }
}

/// For each open bracket, whether the statement is a declaration, and whether the last one was.
typedef struct {
  bool is_declaration[nesting_max + 1], was_declaration[nesting_max + 1];
} statements;

/// `let a=1;let b=2` says the same as `let a=1,b=2`. Whether `word` is to be left out.
static bool joins(reader *in, statements *all, token word, unsigned char *last) {
  const unsigned at = in->depth < nesting_max ? in->depth : nesting_max;
  if (is_one_of(word, "([{")) all->is_declaration[at] = all->was_declaration[at] = false;
  if (is_one_of(word, ";")) {
    all->was_declaration[at] = all->is_declaration[at];
    all->is_declaration[at] = false;
  }
  if (!equals(word, "let")) return false;
  all->is_declaration[at] = true;
  if (!last || *last != ';' || !all->was_declaration[at]) return false;
  *last = ',';
  if (*in->at == ' ') in->at += 1;
  return true;
}

unsigned long chirrup_shorten(
    const unsigned char *script, unsigned long length, unsigned char *out) {
  const unsigned char *const begin = out;
  statements all = {0};
  variables known = {0};
  reader in = {.at = script, .end = script + length};
  count(in, &known);
  name(&known, false);
  name(&known, true);
  while (in.at < in.end) {
    const token word = next(&in);
    const role is = role_of(&in, word);
    if (joins(&in, &all, word, out > begin ? out - 1 : NULL)) {
      remember(&in, word);
      continue;
    }
    const variable *it = is == role_other ? NULL : find(&known, word);
    if (!it || it->length == 0 || is == role_shorthand) {
      memcpy(out, word.at, word.length);
      out += word.length;
    }
    if (it && it->length > 0) {
      if (is == role_shorthand) *out++ = ':';
      if (is_private(word)) *out++ = '#';
      memcpy(out, it->text, it->length);
      out += it->length;
    }
    remember(&in, word);
  }
  return (unsigned long)(out - begin);
}
