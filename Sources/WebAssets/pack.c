#include "pack.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
  const unsigned char *at;
  const unsigned char *end;
} text;

static bool begins(text t, const char *word) {
  const unsigned long length = strlen(word);
  return (unsigned long)(t.end - t.at) >= length && memcmp(t.at, word, length) == 0;
}

static text next_line(text *rest) {
  const unsigned char *stop = memchr(rest->at, '\n', (unsigned long)(rest->end - rest->at));
  const text line = {rest->at, stop ? stop : rest->end};
  rest->at = stop ? stop + 1 : rest->end;
  return line;
}

/// Copies one line without its indentation and comments. `inside` remembers a comment that goes on over lines;
/// `tail` begins one that ends with the line.
static unsigned char *copy_line(text line, const char *tail, bool *inside, unsigned char *out) {
  unsigned char *const begin = out;
  while (line.at < line.end) {
    if (*inside) {
      if (begins(line, "*/")) {
        *inside = false;
        line.at += 1;
      }
    } else if (begins(line, "/*")) {
      *inside = true;
      line.at += 1;
    } else if (tail && begins(line, tail)) {
      break;
    } else if (out > begin || (*line.at != ' ' && *line.at != '\t')) {
      *out++ = *line.at;
    }
    line.at += 1;
  }
  while (out > begin && out[-1] == ' ') out -= 1;
  if (out > begin) *out++ = '\n';
  return out;
}

unsigned long chirrup_pack_modules(
    const chirrup_part *parts, unsigned long count, unsigned char *out) {
  unsigned char *const begin = out;
  for (unsigned long i = 0; i < count; i += 1) {
    text rest = {parts[i].bytes, parts[i].bytes + parts[i].length};
    bool inside = false;
    while (rest.at < rest.end) {
      text line = next_line(&rest);
      if (begins(line, "import ") || begins(line, "// ")) continue;
      if (i + 1 < count && begins(line, "export ")) line.at += strlen("export ");
      out = copy_line(line, " // ", &inside, out);
    }
  }
  return (unsigned long)(out - begin);
}

unsigned long chirrup_pack_styles(
    const chirrup_part *parts, unsigned long count, unsigned char *out) {
  unsigned char *const begin = out;
  for (unsigned long i = 0; i < count; i += 1) {
    text rest = {parts[i].bytes, parts[i].bytes + parts[i].length};
    bool inside = false;
    while (rest.at < rest.end) out = copy_line(next_line(&rest), 0, &inside, out);
  }
  return (unsigned long)(out - begin);
}
