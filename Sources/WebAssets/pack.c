#include "pack.h"

#include <stdbool.h>
#include <string.h>

#include "shorten.h"

enum { nesting_max = 8, names_max = 26 * 4, lists_max = 8 };

/// What a place in a source can be inside of. `braces` counts the open ones of the code in each
/// `${…}`.
typedef struct {
  const unsigned char *at;
  const unsigned char *end;
  unsigned char quote;  // of the string we are in, 0 in code
  unsigned nesting;
  unsigned braces[nesting_max];
} lexer;

/// The private names of all parts, in the order of their first use. Private names cannot be seen
/// from outside, so they alone may be shortened.
typedef struct {
  unsigned long count;
  chirrup_part of[names_max];
} names;

/// Lists of constants, `names(`…`)`, `places(`…`)` or `{ name: 1, … }`. Each use is replaced by its
/// value, so the lists themselves can go.
typedef struct {
  unsigned long count;
  chirrup_part names[lists_max], values[lists_max];
} lists;

static bool begins(const lexer *source, const char *word) {
  const unsigned long length = strlen(word);
  return (unsigned long)(source->end - source->at) >= length &&
         memcmp(source->at, word, length) == 0;
}

/// Moves behind `word`, or to the end.
static void skip_past(lexer *source, const char *word) {
  while (source->at < source->end && !begins(source, word)) source->at += 1;
  if (source->at < source->end) source->at += strlen(word);
}

static bool is_word(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '#' || byte >= 128;
}

/// Copies one byte of a string or template, and notices where it ends or where code begins inside
/// of it.
static unsigned char *copy_quoted(lexer *source, unsigned char *out) {
  if (*source->at == '\\' && source->at + 1 < source->end) *out++ = *source->at++;
  else if (source->quote == '`' && begins(source, "${") && source->nesting + 1 < nesting_max) {
    *out++ = *source->at++;
    source->nesting += 1;
    source->braces[source->nesting] = 1;
    source->quote = 0;
  } else if (*source->at == source->quote) {
    source->quote = 0;
  }
  *out++ = *source->at++;
  return out;
}

/// Copies a name as `a`, `b`, …, `a1`, the same one for the same name.
static unsigned char *copy_name(
    lexer *source, bool (*is_part)(unsigned char), names *known, unsigned char *out) {
  chirrup_part name = {.bytes = source->at};
  while (source->at < source->end && is_part(*source->at)) source->at += 1;
  name.length = (unsigned long)(source->at - name.bytes);
  unsigned long i = 0;
  while (i < known->count && !(known->of[i].length == name.length &&
                               memcmp(known->of[i].bytes, name.bytes, name.length) == 0)) i += 1;
  if (i == known->count && i < names_max) known->of[known->count++] = name;
  if (i == names_max) {
    memcpy(out, name.bytes, name.length);
    return out + name.length;
  }
  *out++ = (unsigned char)('a' + i % 26);
  if (i >= 26) *out++ = (unsigned char)('0' + i / 26);
  return out;
}

/// Copies one byte of code that is neither space nor comment. A comma before a bracket and a
/// semicolon before a brace say nothing.
static unsigned char *copy_code(lexer *source, const unsigned char *begin, unsigned char *out) {
  const unsigned char byte = *source->at++;
  const bool is_needless =
      out > begin && (out[-1] == ',' ? memchr(")]}", byte, 3) != NULL
                                     : out[-1] == ';' && byte == '}');
  if (is_needless) out -= 1;
  if (byte == '\'' || byte == '"' || byte == '`') source->quote = byte;
  if (source->nesting > 0) {
    if (byte == '{') source->braces[source->nesting] += 1;
    if (byte == '}') {
      source->braces[source->nesting] -= 1;
      if (source->braces[source->nesting] == 0) {
        source->nesting -= 1;
        source->quote = '`';
      }
    }
  }
  *out++ = byte;
  return out;
}

static const char list_start[] = "export const ";
static const char *const list_makers[] = {"const names = ", "const places = "};

/// Moves behind a list of constants and keeps it. What follows the `=` shows that it is one.
static bool take_list(lexer *source, lists *known) {
  lexer ahead = *source;
  ahead.at += strlen(list_start);
  const unsigned char *const name = ahead.at;
  while (ahead.at < ahead.end && is_word(*ahead.at)) ahead.at += 1;
  const unsigned char *const name_end = ahead.at;
  const bool is_list =
      *name >= 'A' && *name <= 'Z' &&
      (begins(&ahead, " = names(") || begins(&ahead, " = places(") || begins(&ahead, " = {\n"));
  if (!is_list || known->count == lists_max) return false;
  const unsigned char *const value = ahead.at;
  skip_past(&ahead, ";\n");
  known->names[known->count] = (chirrup_part){name, (unsigned long)(name_end - name)};
  known->values[known->count++] = (chirrup_part){value, (unsigned long)(ahead.at - value)};
  source->at = ahead.at - 1;
  return true;
}

/// How many names stand before this one in `places(`…`)`.
static unsigned char *copy_place(
    lexer *list, const unsigned char *name, unsigned long length, unsigned char *out) {
  unsigned place = 0;
  skip_past(list, "`");
  while (list->at < list->end && *list->at != '`') {
    const unsigned char *const word = list->at;
    while (is_word(*list->at)) list->at += 1;
    if ((unsigned long)(list->at - word) == length && memcmp(word, name, length) == 0) break;
    while (*list->at == ' ' || *list->at == '\n') list->at += 1;
    place += 1;
  }
  if (place >= 10) *out++ = (unsigned char)('0' + place / 10);
  *out++ = (unsigned char)('0' + place % 10);
  return out;
}

/// Copies the value of `List.name`: the number behind it in the list, its place there, or the name
/// as a string.
static unsigned char *copy_constant(lexer *source, const lists *known, unsigned char *out) {
  for (unsigned long i = 0; i < known->count; i += 1) {
    const chirrup_part list = known->names[i];
    const unsigned char *name = source->at + list.length;
    if ((unsigned long)(source->end - source->at) <= list.length || *name++ != '.' ||
        memcmp(source->at, list.bytes, list.length) != 0) {
      continue;
    }
    source->at = name;
    while (source->at < source->end && is_word(*source->at)) source->at += 1;
    const unsigned long length = (unsigned long)(source->at - name);
    lexer value = {.at = known->values[i].bytes,
                   .end = known->values[i].bytes + known->values[i].length};
    if (begins(&value, " = {")) {
      while (value.at + length < value.end &&
             !(!is_word(value.at[-1]) && memcmp(value.at, name, length) == 0 &&
               value.at[length] == ':')) value.at += 1;
      value.at += length + strlen(": ");
      while (value.at < value.end && is_word(*value.at)) *out++ = *value.at++;
    } else if (begins(&value, " = places(")) {
      out = copy_place(&value, name, length, out);
    } else {
      *out++ = '\'';
      memcpy(out, name, length);
      out += length;
      *out++ = '\'';
    }
    return out;
  }
  return NULL;
}

typedef struct {
  bool (*parts)(unsigned char before, unsigned char after);  // whether a space between them matters
  bool (*breaks)(unsigned char before, unsigned char after);  // whether a line break does
} language;

static bool script_parts(unsigned char before, unsigned char after) {
  return (is_word(before) && is_word(after)) || (before == after && (after == '+' || after == '-'));
}

/// Where a statement may end without a semicolon (ECMA-262 §12.10), the line break is one. Next to
/// these signs it cannot end or begin. Behind a brace of ours it never does: what ends with one and
/// needs a semicolon has it.
static bool script_breaks(unsigned char before, unsigned char after) {
  return !memchr(";{,([}=?:&|>", before, 12) && !memchr("})],.?:&|", after, 9);
}

/// A space is a combinator in a selector and an operator in a value; next to these signs it is
/// neither. The empty value of a custom property needs its space.
static bool style_parts(unsigned char before, unsigned char after) {
  return !(memchr(":;,{}>", before, 6) && after != ';') && !memchr("{}>", after, 3);
}

static bool style_breaks(unsigned char before, unsigned char after) {
  return style_parts(before, after);
}

/// Every accent begins with it, and a workspace sets its own.
static const char public_property[] = "--c-accent";

static const language script = {script_parts, script_breaks};
static const language style = {style_parts, style_breaks};

static bool is_property(unsigned char byte) { return is_word(byte) || byte == '-'; }

/// A run of blanks becomes one line break, one space or nothing.
static unsigned char *copy_blank(
    lexer *source, const language *in, const unsigned char *begin, unsigned char *out) {
  bool is_break = false;
  while (source->at < source->end && (*source->at == ' ' || *source->at == '\n')) {
    is_break |= *source->at == '\n';
    source->at += 1;
  }
  if (out == begin || out[-1] == '\n' || source->at == source->end) return out;
  if (is_break) {
    if (in->breaks(out[-1], *source->at)) *out++ = '\n';
  } else if (in->parts(out[-1], *source->at)) {
    *out++ = ' ';
  }
  return out;
}

unsigned long chirrup_pack_modules(
    const chirrup_part *parts, unsigned long count, unsigned char *out) {
  unsigned char *const begin = out;
  lists constants = {0};
  for (unsigned long i = 0; i < count; i += 1) {
    lexer source = {.at = parts[i].bytes, .end = parts[i].bytes + parts[i].length};
    while (source.at < source.end) {
      const bool is_line = source.at == parts[i].bytes || source.at[-1] == '\n';
      const bool is_first = is_line || !(is_word(source.at[-1]) || source.at[-1] == '.');
      unsigned char *const behind =
          source.quote || !is_first ? NULL : copy_constant(&source, &constants, out);
      if (behind) {
        out = behind;
      } else if (source.quote) {
        out = copy_quoted(&source, out);
      } else if (is_line && (begins(&source, list_makers[0]) || begins(&source, list_makers[1]))) {
        skip_past(&source, ";\n");
      } else if (is_line && begins(&source, list_start) && take_list(&source, &constants)) {
        continue;
      } else if (begins(&source, "//") || (is_line && begins(&source, "import "))) {
        skip_past(&source, "\n");
        source.at -= 1;
      } else if (begins(&source, "/*")) {
        skip_past(&source, "*/");
      } else if (is_line && i + 1 < count && begins(&source, "export ")) {
        source.at += strlen("export ");
      } else if (*source.at == ' ' || *source.at == '\n') {
        out = copy_blank(&source, &script, begin, out);
      } else if (is_first && begins(&source, "const ")) {  // the same in a program that is right
        source.at += strlen("const");
        memcpy(out, "let", 3);
        out += 3;
      } else {
        out = copy_code(&source, begin, out);
      }
    }
    *out++ = '\n';
  }
  return (unsigned long)(out - begin);
}

unsigned long chirrup_pack_styles(
    const chirrup_part *parts, unsigned long count, unsigned char *out) {
  unsigned char *const begin = out;
  names known = {0};
  for (unsigned long i = 0; i < count; i += 1) {
    lexer source = {.at = parts[i].bytes, .end = parts[i].bytes + parts[i].length};
    while (source.at < source.end) {
      if (begins(&source, "/*")) {
        skip_past(&source, "*/");
      } else if (*source.at == ' ' || *source.at == '\n') {
        out = copy_blank(&source, &style, begin, out);
      } else if (begins(&source, "--") && !begins(&source, public_property)) {
        *out++ = *source.at++;
        *out++ = *source.at++;
        out = copy_name(&source, is_property, &known, out);
      } else {
        if (*source.at == '}' && out > begin && out[-1] == ';') out -= 1;
        *out++ = *source.at++;
      }
    }
  }
  return chirrup_inline(begin, (unsigned long)(out - begin), public_property);
}
