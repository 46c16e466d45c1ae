#include <stdbool.h>
#include <string.h>

#include "shorten.h"

static bool is_part(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || byte == '-';
}

/// The place of a name in the list, or -1.
static int place(const char *list, const unsigned char *name, unsigned long length) {
  int at = 0;
  for (const char *word = list; *word; at += 1) {
    const unsigned long size = strcspn(word, " ");
    if (size == length && memcmp(word, name, length) == 0) return at;
    word += size + (word[size] == ' ');
  }
  return -1;
}

unsigned long chirrup_rename_looks(
    unsigned char *bytes, unsigned long length, const char *looks, bool is_script) {
  unsigned char *out = bytes;
  unsigned char quote = 0;
  unsigned braces = 0;  // of the code in a template
  for (unsigned long i = 0; i < length;) {
    const unsigned char byte = bytes[i++];
    *out++ = byte;
    if (braces > 0 || (quote == '`' && byte == '{' && out[-2] == '$')) {
      braces += byte == '{';
      braces -= byte == '}';
      continue;
    }
    if (is_script && (byte == '\'' || byte == '`') && (!quote || quote == byte)) {
      quote = quote ? 0 : byte;
    }
    if (byte != '.' || (is_script && !quote)) continue;
    unsigned long end = i;
    while (end < length && is_part(bytes[end])) end += 1;
    const int number = place(looks, bytes + i, end - i);
    if (number < 0) continue;
    *out++ = (unsigned char)(number < 26 ? 'a' + number : 'A' + number - 26);
    i = end;
  }
  return (unsigned long)(out - bytes);
}
