// A Bloom filter of common passwords, embedded in the binary (C23 #embed). README.md names its source.
#ifndef CHIRRUP_COMMON_PASSWORDS_H
#define CHIRRUP_COMMON_PASSWORDS_H

// Lives as long as the process.
const unsigned char *chirrup_common_passwords(unsigned long *length);

#endif
