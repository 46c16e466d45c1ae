// libpq, the client library of PostgreSQL (14 or later: pipeline mode).
#ifndef CHIRRUP_CLIBPQ_H
#define CHIRRUP_CLIBPQ_H
#define _GNU_SOURCE 1  // as in CLinux: one program, one shape of the C library's types
#include <libpq-fe.h>
#endif
