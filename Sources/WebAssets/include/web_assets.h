// The pages, scripts and styles of widget, console, reference and demo, embedded in the binary as
// scripts/web built them.
//
// Pages of other sites load /widget.js and everything below /assets/, so the server sends
// `Access-Control-Allow-Origin: *` and `Cross-Origin-Resource-Policy: cross-origin` with them.
// /console and /demo contain placeholders of the form {{NAME}}, which the server replaces by
// HTML-escaped text.
#pragma once

/// A file in one content coding. If there is none, `bytes` is NULL and `length` 0.
typedef struct {
  const unsigned char *bytes;
  unsigned long length;
} chirrup_form;

typedef struct {
  const char *path;          // of the URL: "/widget.js", "/assets/console-0f1e2d3c4b.js"
  const char *name;          // the path without the hash of the content
  const char *content_type;  // with its charset
  chirrup_form plain, gzip, brotli;
} chirrup_asset;

/// The table of all files, which is immutable, and its length.
const chirrup_asset *chirrup_assets(unsigned long *count);
