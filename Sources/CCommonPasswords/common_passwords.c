// The table that scripts/common-passwords makes.

#include "common_passwords.h"

static const unsigned char table[] = {
#embed "passwords.bloom"
};

const unsigned char *chirrup_common_passwords(unsigned long *length) {
  *length = sizeof table;
  return table;
}
