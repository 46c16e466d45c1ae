// zlib (1.2.5.2 or later: inflateResetKeep).
#ifndef CHIRRUP_CZLIB_H
#define CHIRRUP_CZLIB_H
#include <zlib.h>
#endif
