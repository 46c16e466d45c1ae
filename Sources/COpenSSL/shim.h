// The parts of OpenSSL 3 that the target OpenSSL uses.
#ifndef CHIRRUP_COPENSSL_H
#define CHIRRUP_COPENSSL_H
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#endif
