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

/// The text of `"name": "text"`, without its quotes; `bytes` is NULL where there is none.
static chirrup_part text_of(chirrup_part in, const unsigned char *name, unsigned long length) {
  static const char separator[] = "\": \"";
  const unsigned char *const end = in.bytes + in.length, *at = in.bytes;
  while ((at = behind(in, at, "\""))) {
    if ((unsigned long)(end - at) < length + strlen(separator)) break;
    if (memcmp(at, name, length) != 0) continue;
    if (memcmp(at + length, separator, strlen(separator)) != 0) continue;
    const unsigned char *const text = at + length + strlen(separator);
    const unsigned char *const quote = memchr(text, '"', (unsigned long)(end - text));
    if (quote) return (chirrup_part){text, (unsigned long)(quote - text)};
  }
  return (chirrup_part){NULL, 0};
}

unsigned long chirrup_pack_words(
    chirrup_part list, chirrup_part texts, chirrup_part instead, unsigned char *out) {
  static const char head[] = "export default`", tail[] = "`\n";
  unsigned char *const begin = out;
  memcpy(out, head, strlen(head));
  out += strlen(head);
  const unsigned char *const end = list.bytes + list.length;
  const unsigned char *at = behind(list, list.bytes, "Word = places(`");
  for (bool is_first = true; at && at < end && *at != '`'; is_first = false) {
    const unsigned char *const name = at;
    while (at < end && is_letter(*at)) at += 1;
    const unsigned long length = (unsigned long)(at - name);
    chirrup_part text = text_of(texts, name, length);
    if (!text.bytes) text = text_of(instead, name, length);
    if (!is_first) *out++ = '\n';
    if (text.bytes) {
      memcpy(out, text.bytes, text.length);
      out += text.length;
    }
    while (at < end && (*at == ' ' || *at == '\n')) at += 1;
    // Anything else ends the list, rather than being read for ever.
    if (at < end && !is_letter(*at)) break;
  }
  memcpy(out, tail, strlen(tail));
  return (unsigned long)(out + strlen(tail) - begin);
}
