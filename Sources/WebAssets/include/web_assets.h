// The pages, modules and styles of widget, console and demo, embedded in the binary.
//
// What a server of them must know: everything below /assets/ and /widget.js is loaded by other
// sites' pages, so it needs `Access-Control-Allow-Origin: *` and `Cross-Origin-Resource-Policy:
// cross-origin`. /console and /demo carry place holders of the form {{NAME}}, to be replaced by
// HTML-escaped text.
#pragma once

typedef struct {
  const char *path;          // of the URL: "/widget.js", "/assets/console/main.js"
  const char *content_type;  // with its charset
  const unsigned char *bytes;
  unsigned long length;
  const unsigned char *gzip;  // a gzip file of them, smaller than the usual; NULL: none was made
  unsigned long gzip_length;
} chirrup_asset;

/// The table, complete after the first call and immutable from then on; any thread may call it.
const chirrup_asset *chirrup_assets(unsigned long *count);

/// Those of the widget, which `chirrup_assets` calls once.
const chirrup_asset *chirrup_widget_assets(unsigned long *count);
