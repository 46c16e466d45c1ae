#include <stdbool.h>
#include <string.h>

#include "pack.h"

static bool is_letter(unsigned char byte) { return (byte >= 'a' && byte <= 'z') || byte == '_'; }

/// Behind `text`, or NULL.
static const unsigned char *behind(chirrup_part in, const unsigned char *from, const char *text) {
  const unsigned long length = strlen(text);
  for (const unsigned char *at = from; at + length <= in.bytes + in.length; at += 1) {
    if (memcmp(at, text, length) == 0) return at + length;
  }
  return NULL;
}

/// The text of `"name": "text"`, still with the quote behind it.
static const unsigned char *text_of(
    chirrup_part in, const unsigned char *name, unsigned long length) {
  const unsigned char *at = in.bytes;
  while ((at = behind(in, at, "\""))) {
    if (memcmp(at, name, length) == 0 && memcmp(at + length, "\": \"", 4) == 0) {
      return at + length + 4;
    }
  }
  return NULL;
}

unsigned long chirrup_pack_words(
    chirrup_part list, chirrup_part texts, chirrup_part instead, unsigned char *out) {
  static const char head[] = "export default`", tail[] = "`\n";
  unsigned char *const begin = out;
  memcpy(out, head, strlen(head));
  out += strlen(head);
  const unsigned char *at = behind(list, list.bytes, "Word = places(`");
  for (bool is_first = true; at && *at != '`'; is_first = false) {
    const unsigned char *const name = at;
    while (is_letter(*at)) at += 1;
    const unsigned long length = (unsigned long)(at - name);
    const unsigned char *text = text_of(texts, name, length);
    if (!text) text = text_of(instead, name, length);
    if (!is_first) *out++ = '\n';
    while (text && *text != '"') *out++ = *text++;
    while (*at == ' ' || *at == '\n') at += 1;
  }
  memcpy(out, tail, strlen(tail));
  return (unsigned long)(out + strlen(tail) - begin);
}
