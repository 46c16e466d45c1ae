// libcurl (7.66 or later: curl_multi_poll). Swift does not import functions of variable arguments, so this header wraps
// them for the options that the target HTTPClient uses, each without a decision of its own.
#ifndef CHIRRUP_CCURL_H
#define CHIRRUP_CCURL_H
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/// A request with these bytes, which are not copied, or without a body, to a server that is verified; nothing is
/// followed, kept or looked up in the environment. `method` is NULL for a POST of a body and a GET without one.
static inline int chirrup_curl_request(CURL *easy, const char *url, const char *method, int has_body, const char *body,
                                       size_t count, struct curl_slist *headers, long milliseconds) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK;
  if (has_body) {
    failures += curl_easy_setopt(easy, CURLOPT_POST, 1L) != CURLE_OK;
    failures += curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count) != CURLE_OK;
    failures += curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body) != CURLE_OK;
  } else {
    failures += curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) != CURLE_OK;
  }
  if (method != NULL && strcmp(method, "HEAD") == 0)
    failures += curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) != CURLE_OK;
  else if (method != NULL)
    failures += curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_PROXY, "") != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075500
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK;
#else
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) != CURLE_OK;
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // A name server that does not answer keeps its own thread waiting, and not ours.
  failures += curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) != CURLE_OK;
#endif
  return failures == 0;
}

/// Both callbacks get `owner`.
static inline int chirrup_curl_callbacks(CURL *easy, void *owner, curl_opensocket_callback open,
                                         curl_write_callback write) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, owner) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_WRITEDATA, owner) != CURLE_OK;
  return failures == 0;
}

/// The callback gets the lines of the answer's head.
static inline int chirrup_curl_head(CURL *easy, void *owner, curl_write_callback line) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, line) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_HEADERDATA, owner) != CURLE_OK;
  return failures == 0;
}

/// A PUT whose body of `count` bytes is read in pieces; `seek` starts it again when a kept connection was dead.
static inline int chirrup_curl_upload(CURL *easy, void *owner, curl_read_callback read, curl_seek_callback seek,
                                      int64_t count) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)count) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_READFUNCTION, read) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_READDATA, owner) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SEEKDATA, owner) != CURLE_OK;
  return failures == 0;
}

/// `authority` is a PEM file of certificates to trust instead of the system's.
static inline int chirrup_curl_trust(CURL *easy, const char *authority) {
  return curl_easy_setopt(easy, CURLOPT_CAINFO, authority) == CURLE_OK;
}

/// Connects, and over https completes and verifies TLS, but sends nothing: curl_easy_send and curl_easy_recv do then.
/// `authority` is a PEM file of certificates to trust instead of the system's, or NULL; `reason` has CURL_ERROR_SIZE bytes.
static inline CURLcode chirrup_curl_connect(CURL *easy, const char *url, const char *authority, int verifies,
                                            long milliseconds, char *reason) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_PROXY, "") != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verifies ? 1L : 0L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verifies ? 2L : 0L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason) != CURLE_OK;
  if (authority) failures += curl_easy_setopt(easy, CURLOPT_CAINFO, authority) != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075500
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK;
#else
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) != CURLE_OK;
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  failures += curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) != CURLE_OK;
#endif
  return failures == 0 ? curl_easy_perform(easy) : CURLE_FAILED_INIT;
}

static inline void chirrup_curl_forget_reason(CURL *easy) { curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL); }

/// A message to a mail server that is verified, with the bytes that `read` gives; `security` is a CURLUSESSL_ value. `user`
/// and `authority` may be NULL. The lists are freed by the caller; all callbacks get `owner`.
static inline int chirrup_curl_mail(CURL *easy, const char *url, const char *user, const char *password, long security,
                                    const char *authority, const char *from, struct curl_slist *recipients, size_t count,
                                    long connect_milliseconds, long milliseconds, void *owner, curl_read_callback read,
                                    curl_debug_callback watch, curl_write_callback ignore) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075500
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps") != CURLE_OK;
#else
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS)) != CURLE_OK;
#endif
  if (user) {
    failures += curl_easy_setopt(easy, CURLOPT_USERNAME, user) != CURLE_OK;
    failures += curl_easy_setopt(easy, CURLOPT_PASSWORD, password) != CURLE_OK;
  }
  failures += curl_easy_setopt(easy, CURLOPT_USE_SSL, security) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) != CURLE_OK;
  if (authority) failures += curl_easy_setopt(easy, CURLOPT_CAINFO, authority) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_MAIL_FROM, from) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, recipients) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)count) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_READFUNCTION, read) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_READDATA, owner) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, watch) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_DEBUGDATA, owner) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, (milliseconds + 999) / 1000) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_PROXY, "") != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075700
  failures += curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) != CURLE_OK;
#endif
  return failures == 0;
}

/// After chirrup_curl_mail: connection, TLS and login as for a message, and then NOOP instead of one.
static inline int chirrup_curl_mail_noop(CURL *easy) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_MAIL_FROM, NULL) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, NULL) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_UPLOAD, 0L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "NOOP") != CURLE_OK;
  return failures == 0;
}

/// A command to a mailbox (IMAP) that is verified; without one, the message that the URL names. `authority` may be NULL.
/// Both callbacks get `owner`: `write` the untagged lines or the message, `line` all lines of the server.
static inline int chirrup_curl_mailbox(CURL *easy, const char *url, const char *command, const char *user,
                                       const char *password, long security, const char *authority,
                                       long connect_milliseconds, long milliseconds, void *owner,
                                       curl_write_callback write, curl_write_callback line) {
  int failures = 0;
  failures += curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075500
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "imap,imaps") != CURLE_OK;
#else
  failures += curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_IMAP | CURLPROTO_IMAPS)) != CURLE_OK;
#endif
  if (command) failures += curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, command) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_USERNAME, user) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_PASSWORD, password) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_USE_SSL, security) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) != CURLE_OK;
  if (authority) failures += curl_easy_setopt(easy, CURLOPT_CAINFO, authority) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_WRITEDATA, owner) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, line) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_HEADERDATA, owner) != CURLE_OK;
  // A line with the numbers of all messages of a folder must fit.
  failures += curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L * 1024) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, (milliseconds + 999) / 1000) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
  failures += curl_easy_setopt(easy, CURLOPT_PROXY, "") != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075700
  failures += curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) != CURLE_OK;
#endif
  return failures == 0;
}

/// The socket of chirrup_curl_connect, or -1.
static inline int chirrup_curl_socket(CURL *easy) {
  curl_socket_t number = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &number) == CURLE_OK ? (int)number : -1;
}

/// The local address as text, and its port; NULL if there is none.
static inline const char *chirrup_curl_local(CURL *easy, long *port) {
  char *address = NULL;
  curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, port);
  return curl_easy_getinfo(easy, CURLINFO_LOCAL_IP, &address) == CURLE_OK ? address : NULL;
}

/// When the server's certificate expires, in seconds since 1970; -1 without one.
static inline int64_t chirrup_curl_expiry(CURL *easy) {
  struct curl_certinfo *chain = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain || chain->num_of_certs < 1) return -1;
  for (struct curl_slist *line = chain->certinfo[0]; line; line = line->next)
    if (strncmp(line->data, "Expire date:", 12) == 0) return (int64_t)curl_getdate(line->data + 12, NULL);
  return -1;
}

/// On a new connection, which is not kept either: libcurl repeats requests on kept ones by itself.
static inline void chirrup_curl_send_once(CURL *easy) {
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
}

static inline void chirrup_curl_limit(CURLM *multi, long connections, long kept) {
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kept);
}

/// Bytes of the request, in plain text, that were given to the connection.
static inline long chirrup_curl_sent(CURL *easy) {
  long count = 0;
  return curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &count) == CURLE_OK ? count : 1;
}

/// 0 while no answer has begun.
static inline long chirrup_curl_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

/// The header Retry-After in seconds, 0 without it; libcurl reads both of its forms.
static inline int64_t chirrup_curl_retry_after(CURL *easy) {
  curl_off_t seconds = 0;
  return curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0 ? (int64_t)seconds : 0;
}

/// The next transfer that has ended, or NULL.
static inline CURL *chirrup_curl_ended(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message = curl_multi_info_read(multi, &left);
  while (message != NULL && message->msg != CURLMSG_DONE) message = curl_multi_info_read(multi, &left);
  if (message == NULL) return NULL;
  *result = message->data.result;
  return message->easy_handle;
}

/// The 16 bytes of an address, IPv4 mapped into IPv6, and its port; 0 for other families.
static inline int chirrup_curl_address(const struct curl_sockaddr *address, uint8_t *bytes, uint16_t *port) {
  if (address->family == AF_INET) {
    struct sockaddr_in version4;
    memcpy(&version4, &address->addr, sizeof version4);
    memset(bytes, 0, 10);
    memset(bytes + 10, 0xff, 2);
    memcpy(bytes + 12, &version4.sin_addr, 4);
    *port = ntohs(version4.sin_port);
    return 1;
  }
  if (address->family == AF_INET6) {
    // It may be longer than the type that curl declares: the memory behind it is as long as the family needs.
    struct sockaddr_in6 version6;
    memcpy(&version6, (const void *)&address->addr, sizeof version6);
    memcpy(bytes, &version6.sin6_addr, 16);
    *port = ntohs(version6.sin6_port);
    return 1;
  }
  return 0;
}

static inline curl_socket_t chirrup_curl_open(const struct curl_sockaddr *address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
#endif
