// libpq, the client library of PostgreSQL (14 or later: pipeline mode).
#ifndef CHIRRUP_CLIBPQ_H
#define CHIRRUP_CLIBPQ_H
#include <libpq-fe.h>
#endif
