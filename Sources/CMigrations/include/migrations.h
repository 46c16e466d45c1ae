// The migrations of sql/, embedded in the binary (C23 #embed), so that a deployed gateway needs no files beside it.
#ifndef CHIRRUP_MIGRATIONS_H
#define CHIRRUP_MIGRATIONS_H

typedef struct {
  const char *name;  // the file's name without `.sql`: the revision
  const unsigned char *bytes;
  unsigned long length;
} chirrup_migration;

// The table lives as long as the process.
const chirrup_migration *chirrup_migrations(unsigned long *count);

#endif
