// The table of embedded files. scripts/web writes its rows into built/table.h.

#include "web_assets.h"

#include <stddef.h>

#define FORM(array) {array, sizeof array}
#define NONE {NULL, 0}

#include "built/table.h"

const chirrup_asset *chirrup_assets(unsigned long *count) {
  *count = sizeof assets / sizeof *assets;
  return assets;
}
