// GMime 3, which reads e-mail, and iconv(3). Only the target MailParsing uses them, in a process that can do nothing
// but read its input and write its output.
//
// That process loads GMime by itself (dlopen(3)): linked, it would bring GLib, GObject, GIO, GPGME and ten further
// libraries into each process of this program. So its functions are declared here; its ABI is that of its name, 3.0.
#ifndef CHIRRUP_CGMIME_H
#define CHIRRUP_CGMIME_H
#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct chirrup_bytes {
  const uint8_t *data;
  unsigned int count;
};

// GMime's objects are `void *` here. What functions return belongs to the objects, which live until the process ends.
#define CHIRRUP_GMIME_FUNCTIONS(each) \
  each(void, g_mime_init, (void)) \
  each(void *, g_mime_stream_mem_new_with_buffer, (const char *bytes, size_t count)) \
  each(void *, g_mime_stream_mem_new, (void)) \
  each(const struct chirrup_bytes *, g_mime_stream_mem_get_byte_array, (void *stream)) \
  each(void *, g_mime_parser_new_with_stream, (void *stream)) \
  each(void *, g_mime_parser_construct_message, (void *parser, void *options)) \
  each(const char *, g_mime_message_get_message_id, (void *message)) \
  each(void *, g_mime_message_get_from, (void *message)) \
  each(void *, g_mime_message_get_mime_part, (void *message)) \
  each(void *, g_mime_object_get_header_list, (void *object)) \
  each(int, g_mime_header_list_get_count, (void *list)) \
  each(void *, g_mime_header_list_get_header_at, (void *list, int index)) \
  each(const char *, g_mime_header_get_name, (void *header)) \
  each(const char *, g_mime_header_get_value, (void *header)) \
  each(void *, internet_address_list_parse, (void *options, const char *text)) \
  each(int, internet_address_list_length, (void *list)) \
  each(void *, internet_address_list_get_address, (void *list, int index)) \
  each(size_t, internet_address_mailbox_get_type, (void)) \
  each(const char *, internet_address_mailbox_get_addr, (void *mailbox)) \
  each(size_t, g_mime_multipart_get_type, (void)) \
  each(size_t, g_mime_part_get_type, (void)) \
  each(int, g_mime_multipart_get_count, (void *multipart)) \
  each(void *, g_mime_multipart_get_part, (void *multipart, int index)) \
  each(void *, g_mime_object_get_content_type, (void *object)) \
  each(const char *, g_mime_content_type_get_media_type, (void *type)) \
  each(const char *, g_mime_content_type_get_media_subtype, (void *type)) \
  each(const char *, g_mime_content_type_get_parameter, (void *type, const char *name)) \
  each(const char *, g_mime_object_get_disposition, (void *object)) \
  each(const char *, g_mime_part_get_filename, (void *part)) \
  each(void *, g_mime_part_get_content, (void *part)) \
  each(ssize_t, g_mime_data_wrapper_write_to_stream, (void *content, void *stream)) \
  each(int, g_type_check_instance_is_a, (void *instance, size_t type))

#define CHIRRUP_FIELD(result, name, arguments) result(*name) arguments;
struct chirrup_gmime {
  CHIRRUP_GMIME_FUNCTIONS(CHIRRUP_FIELD)
};
#undef CHIRRUP_FIELD

/// Nil if GMime is not installed, or lacks one of the functions.
static inline const struct chirrup_gmime *chirrup_gmime_load(void) {
  static const char *const names[] = {"libgmime-3.0.so.0", "libgmime-3.0.so"};
  void *library = NULL;
  for (size_t index = 0; !library && index < sizeof names / sizeof *names; index++) {
    library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
  }
  struct chirrup_gmime *calls = library ? malloc(sizeof *calls) : NULL;
  if (!calls) return NULL;
#define CHIRRUP_FIND(result, name, arguments) \
  { \
    void *found = dlsym(library, #name); \
    if (!found) return NULL; \
    memcpy(&calls->name, &found, sizeof found); \
  }
  CHIRRUP_GMIME_FUNCTIONS(CHIRRUP_FIND)
#undef CHIRRUP_FIND
  return calls;
}

/// A converter to UTF-8, or NULL for an unknown charset.
static inline void *chirrup_converter(const char *charset) {
  iconv_t converter = iconv_open("UTF-8", charset);
  return converter == (iconv_t)-1 ? NULL : (void *)converter;
}

/// Converts as much as fits; what the charset does not have becomes U+FFFD. Returns the bytes written.
static inline size_t chirrup_convert(void *converter, const uint8_t *bytes, size_t count, uint8_t *room, size_t size) {
  char *from = (char *)bytes;
  char *to = (char *)room;
  size_t left = size;
  while (count > 0 && left > 3) {
    if (iconv((iconv_t)converter, &from, &count, &to, &left) != (size_t)-1) break;
    if (errno == E2BIG || left <= 3) break;
    memcpy(to, "\xEF\xBF\xBD", 3);
    to += 3;
    left -= 3;
    from++;
    count--;
  }
  if (left > 0) iconv((iconv_t)converter, NULL, NULL, &to, &left);
  return size - left;
}
#endif
