#include <stdbool.h>
#include <string.h>

#include "shorten.h"

enum { value_max = 256, worth_repeating = 6 };

/// A packed sheet that shrinks.
typedef struct {
  unsigned char *bytes;
  unsigned long length;
} sheet;

/// `--name:value;`, and how often the name is given a value and used.
typedef struct {
  unsigned long at, name_length, length;
  unsigned long definitions, uses;
  unsigned char value[value_max];
  unsigned long value_length;
} property;

static bool is_at(
    const sheet *in, unsigned long at, const unsigned char *text, unsigned long size) {
  return at + size <= in->length && memcmp(in->bytes + at, text, size) == 0;
}

static void replace(
    sheet *in, unsigned long at, unsigned long old, const unsigned char *with, unsigned long new) {
  memmove(in->bytes + at + new, in->bytes + at + old, in->length - at - old);
  if (new > 0) memcpy(in->bytes + at, with, new);
  in->length = in->length - old + new;
}

/// Where the name is used behind `from`, or the length.
static unsigned long use(const sheet *in, const unsigned char *name, unsigned long size,
                         unsigned long from) {
  for (; from < in->length; from += 1) {
    const bool is_use = is_at(in, from, (const unsigned char *)"var(", 4) &&
                        is_at(in, from + 4, name, size) && in->bytes[from + 4 + size] == ')';
    if (is_use) return from;
  }
  return in->length;
}

static bool read(const sheet *in, unsigned long at, property *into) {
  const unsigned char before = at > 0 ? in->bytes[at - 1] : 0;
  if ((before != '{' && before != ';') || !is_at(in, at, (const unsigned char *)"--", 2)) {
    return false;
  }
  unsigned long end = at;
  while (end < in->length && in->bytes[end] != ':') end += 1;
  *into = (property){.at = at, .name_length = end - at};
  const unsigned long value = end + 1;
  while (end < in->length && in->bytes[end] != ';' && in->bytes[end] != '}') end += 1;
  into->value_length = end - value;
  into->length = end + 1 - at;
  if (end == in->length || in->bytes[end] == '}' || into->value_length > value_max) return false;
  memcpy(into->value, in->bytes + value, into->value_length);
  const unsigned char *const name = in->bytes + at;
  for (unsigned long i = 1; i < in->length; i += 1) {
    const bool is_definition = (in->bytes[i - 1] == '{' || in->bytes[i - 1] == ';') &&
                               is_at(in, i, name, into->name_length + 1);
    into->definitions += is_definition;
  }
  for (unsigned long i = use(in, name, into->name_length, 0); i < in->length;
       i = use(in, name, into->name_length, i + 1)) into->uses += 1;
  return true;
}

unsigned long chirrup_inline(unsigned char *bytes, unsigned long length, const char *kept) {
  sheet all = {bytes, length};
  property it;
  for (unsigned long at = 0; at < all.length; at += 1) {
    if (!read(&all, at, &it) || it.definitions != 1 || it.uses == 0) continue;
    if (is_at(&all, at, (const unsigned char *)kept, strlen(kept))) continue;
    if (it.uses > 1 && it.value_length > worth_repeating) continue;
    unsigned char name[value_max];
    if (it.name_length > value_max) continue;
    memcpy(name, all.bytes + at, it.name_length);
    replace(&all, at, it.length, NULL, 0);
    for (unsigned long i = use(&all, name, it.name_length, 0); i < all.length;
         i = use(&all, name, it.name_length, i)) {
      replace(&all, i, it.name_length + strlen("var()"), it.value, it.value_length);
    }
    at -= 1;  // the next one stands here now
  }
  return all.length;
}
