#include "script.h"

#include <stdlib.h>
#include <string.h>

enum { nesting_max = 64 };

/// What the innermost open bracket encloses. Words in an object or a class may be names of
/// properties, which are seen from outside and stay.
typedef enum { place_list, place_block, place_object, place_class, place_template } place;

typedef struct {
  const unsigned char *at;
  const unsigned char *end;
  place places[nesting_max];
  unsigned depth;
  chirrup_token last, last_but_one;  // neither counts spaces
  bool is_class_ahead;
} reader;

/// What is no variable of ours: the language, and what we use of the platform. A global that is
/// missing here becomes a name that nobody knows, so its first use fails and cannot be overlooked.
static const char *const reserved[] = {
    "AbortController", "AbortSignal", "Array", "AudioContext", "Blob", "Boolean",
    "BroadcastChannel", "CSSStyleSheet", "CustomEvent",
    "Date", "Error", "FormData", "Infinity", "Intl",
    "JSON", "Map", "Math", "Number", "Object", "Promise", "ResizeObserver", "Set", "String",
    "TextEncoder", "URL", "Uint8Array", "WebSocket", "addEventListener", "async", "await",
    "break", "case", "catch", "class", "clearInterval", "clearTimeout", "console", "const",
    "constructor", "continue", "crypto", "default", "delete", "do", "document", "else",
    "encodeURIComponent", "export", "extends", "false", "fetch", "finally", "for", "function",
    "get", "if", "import", "in", "indexedDB", "instanceof", "let", "localStorage", "location",
    "matchMedia", "navigator", "new", "null", "of", "parseInt", "requestAnimationFrame", "return",
    "sessionStorage", "set", "setInterval", "setTimeout", "static", "switch", "this", "throw",
    "true", "try", "typeof", "undefined", "while", "window"};

static bool is_start(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '$';
}

static bool is_word(unsigned char byte) { return is_start(byte) || (byte >= '0' && byte <= '9'); }

bool chirrup_equals(const chirrup_token *word, const char *text) {
  return word->length == strlen(text) && memcmp(word->at, text, word->length) == 0;
}

static bool is_reserved(chirrup_token word) {
  for (unsigned long i = 0; i < sizeof reserved / sizeof *reserved; i += 1) {
    if (chirrup_equals(&word, reserved[i])) return true;
  }
  return false;
}

bool chirrup_is_one_of(const chirrup_token *sign, const char *signs) {
  return sign->length == 1 && memchr(signs, *sign->at, strlen(signs)) != NULL;
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
  const chirrup_token last = in->last;
  const bool is_arrow = chirrup_is_one_of(&last, ">") && chirrup_is_one_of(&in->last_but_one, "=");
  const bool is_block = last.length == 0 || is_arrow || chirrup_is_one_of(&last, "){};\n") ||
                        chirrup_equals(&last, "else") || chirrup_equals(&last, "try") ||
                        chirrup_equals(&last, "finally") || chirrup_equals(&last, "catch") ||
                        chirrup_equals(&last, "do");
  return is_block ? place_block : place_object;
}

/// Moves over one token and returns it; a string, a number or a private name counts as one.
static chirrup_token next(reader *in) {
  const unsigned char *const begin = in->at;
  const unsigned char byte = *in->at++;
  if (is_start(byte) || byte == '#' || (byte >= '0' && byte <= '9')) {
    while (in->at < in->end && is_word(*in->at)) in->at += 1;
  } else if (byte == '\'' || byte == '"' || byte == '`') {
    skip_quoted(in, byte);
  } else if (byte == '/' && (chirrup_is_one_of(&in->last, "(,=>:[!&|?{};") ||
                             chirrup_equals(&in->last, "return"))) {
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
  return (chirrup_token){.at = begin, .length = (unsigned long)(in->at - begin)};
}

static void remember(reader *in, chirrup_token word) {
  if (chirrup_is_one_of(&word, " ")) return;
  if (chirrup_equals(&word, "class")) in->is_class_ahead = true;
  in->last_but_one = in->last;
  in->last = word;
}

static chirrup_role role_of(const reader *in, chirrup_token word) {
  if (*word.at == '#') return role_variable;
  if (!is_start(*word.at) || is_reserved(word)) return role_other;
  const chirrup_token last = in->last;
  if (chirrup_is_one_of(&last, ".") && !chirrup_is_one_of(&in->last_but_one, ".")) {
    return role_other;
  }
  const bool is_marked = chirrup_equals(&last, "get") || chirrup_equals(&last, "set") ||
                         chirrup_equals(&last, "async") || chirrup_equals(&last, "static");
  const place around = innermost(in);
  if (around == place_class && (is_marked || chirrup_is_one_of(&last, "{};\n"))) return role_other;
  if (around == place_object && (is_marked || chirrup_is_one_of(&last, "{,"))) {
    const unsigned char after = in->at < in->end ? *in->at : 0;
    return after == ',' || after == '}' || after == '=' ? role_shorthand : role_other;
  }
  return role_variable;
}

/// The tokens with their roles and partners.
static void read_tokens(chirrup_script *into, const unsigned char *script, unsigned long length) {
  reader in = {.at = script, .end = script + length};
  unsigned opener_of[nesting_max] = {0};
  while (in.at < in.end) {
    const unsigned depth = in.depth;
    const unsigned here = (unsigned)into->count;
    chirrup_token word = next(&in);
    word.is = role_of(&in, word);
    word.depth = depth;
    if (in.depth > depth && depth < nesting_max) {
      opener_of[depth] = here;
      word.is_class = in.places[depth] == place_class;
      word.begins = in.places[depth] == place_block || word.is_class;
    }
    if (memchr(")]}", *word.at, 3) && depth > 0 && depth <= nesting_max) {
      word.depth = depth - 1;
      word.partner = opener_of[depth - 1];
      into->of[word.partner].partner = here;
      if (in.depth == depth) opener_of[depth - 1] = here;  // the next code of the same template
    }
    remember(&in, word);
    into->of[into->count++] = word;
  }
}

/// A block or the body of a function: from its parameters, if it has any, to its brace.
static void mark_block(chirrup_script *in, unsigned long brace) {
  chirrup_token *const of = in->of;
  unsigned long first = brace;
  if (brace > 0 && *of[brace - 1].at == ')' && !of[brace].is_class) first = of[brace - 1].partner;
  of[brace].begins = false;
  of[first].begins = true;
  of[first].is_class = of[brace].is_class;
  of[of[brace].partner].ends += 1;
}

/// An arrow function: from its parameters to the end of its body, which without a brace ends where
/// an AssignmentExpression does (ECMA-262 §13.15). That no statement of ours ends without its
/// semicolon spares the question of line breaks.
static void mark_arrow(chirrup_script *in, unsigned long arrow) {
  chirrup_token *const of = in->of;
  const unsigned long first = *of[arrow - 1].at == ')' ? of[arrow - 1].partner : arrow - 1;
  of[first].begins = true;
  unsigned long at = arrow + 2;
  if (*of[at].at == '{') {
    of[at].begins = false;
    of[of[at].partner].ends += 1;
    return;
  }
  unsigned choices = 0;
  for (; at < in->count; at += 1) {
    const unsigned char sign = *of[at].at;
    if (of[at].partner > at) while (of[at].partner > at) at = of[at].partner;
    else if (memchr(",;)]}", sign, 5)) break;
    else if (sign == '?' && !memchr("?.", *of[at + 1].at, 2) && *of[at - 1].at != '?') choices += 1;
    else if (sign == ':' && choices-- == 0) break;
  }
  of[at - 1].ends += 1;
}

/// Gives every token its scope. Parameters come in front of what makes them parameters, so the
/// limits are known before.
static bool nest(chirrup_script *in) {
  in->parents = calloc(in->count + 1, sizeof *in->parents);
  unsigned *const classes = calloc(in->count + 1, sizeof *classes);
  if (!in->parents || !classes) return free(classes), false;
  unsigned scope = 0;
  in->scopes = 1;
  for (unsigned long i = 0; i < in->count; i += 1) {
    chirrup_token *const it = &in->of[i];
    if (it->begins) {
      in->parents[in->scopes] = scope;
      classes[in->scopes] = it->is_class ? in->scopes : classes[scope];
      scope = in->scopes++;
    }
    it->scope = scope;
    it->class = classes[scope];
    for (unsigned ends = it->ends; ends > 0; ends -= 1) scope = in->parents[scope];
  }
  free(classes);
  return true;
}

chirrup_script chirrup_read(const unsigned char *script, unsigned long length) {
  chirrup_script into = {.of = calloc(length + 1, sizeof *into.of)};
  if (!into.of) return into;
  read_tokens(&into, script, length);
  for (unsigned long i = 0; i < into.count; i += 1) {
    const bool is_arrow = i > 0 && i + 2 < into.count && *into.of[i].at == '=' &&
                          *into.of[i + 1].at == '>' && into.of[i].at + 1 == into.of[i + 1].at;
    if (is_arrow) mark_arrow(&into, i);
  }
  for (unsigned long i = 0; i < into.count; i += 1) {
    if (*into.of[i].at == '{' && into.of[i].begins) mark_block(&into, i);
  }
  if (!nest(&into)) into.count = 0;
  return into;
}

void chirrup_forget(chirrup_script *script) {
  free(script->of);
  free(script->parents);
  *script = (chirrup_script){0};
}
