// The pages, scripts and styles of widget, console and demo, as scripts/web built them, embedded in
// the binary.
//
// What a server of them must know: everything below /assets/ and /widget.js is loaded by other
// sites' pages, so it needs `Access-Control-Allow-Origin: *` and `Cross-Origin-Resource-Policy:
// cross-origin`. /console and /demo carry place holders of the form {{NAME}}, to be replaced by
// HTML-escaped text.
#pragma once

/// A file in one content coding. Without one, `bytes` is NULL and `length` 0.
typedef struct {
  const unsigned char *bytes;
  unsigned long length;
} chirrup_form;

typedef struct {
  const char *path;          // of the URL: "/widget.js", "/assets/console-0f1e2d3c4b.js"
  const char *name;          // the path without the hash of the content, if it has one
  const char *content_type;  // with its charset
  chirrup_form plain, gzip, brotli;
} chirrup_asset;

/// The table, which is immutable.
const chirrup_asset *chirrup_assets(unsigned long *count);
