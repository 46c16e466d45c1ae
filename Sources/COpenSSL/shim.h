// The parts of OpenSSL 3 that the target OpenSSL uses. Swift does not import macros, so this header wraps those that
// are needed in functions, each without a decision of its own.
#ifndef CHIRRUP_COPENSSL_H
#define CHIRRUP_COPENSSL_H
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>

// OpenSSL 3.0 lacks this name; the program may run with a later library.
#ifndef SSL_R_RECORD_LAYER_FAILURE
#define SSL_R_RECORD_LAYER_FAILURE 313
#endif

/// TLS 1.2 and 1.3, buffers given back when they are empty, no renegotiation, the server's order of ciphers.
static inline void chirrup_ssl_ctx_settle(SSL_CTX *context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
}
static inline void chirrup_ssl_ctx_maximum(SSL_CTX *context, int version) {
  SSL_CTX_set_max_proto_version(context, version);
}
static inline int chirrup_ssl_ctx_groups(SSL_CTX *context, const char *groups) {
  return (int)SSL_CTX_set1_groups_list(context, groups);
}
static inline void chirrup_ssl_ctx_server_name(SSL_CTX *context, int (*callback)(SSL *, int *, void *)) {
  SSL_CTX_set_tlsext_servername_callback(context, callback);
}
static inline int chirrup_ssl_server_name(SSL *ssl, const char *name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}
/// Gives up what only a handshake reads and OpenSSL 3.0 keeps to the end, on the server's side: the key exchange's keys
/// (the private one is overwritten), the list of the client's ciphers, and the names that went into the ticket. Their
/// owner stays the SSL; only what they hold is freed.
static inline void chirrup_ssl_forget_handshake(SSL *ssl) {
  EVP_PKEY *key = NULL;
  if (SSL_get_tmp_key(ssl, &key) == 1) {
    EVP_PKEY_set_type(key, EVP_PKEY_NONE);
    EVP_PKEY_free(key);
  }
  key = NULL;
  if (SSL_get_peer_tmp_key(ssl, &key) == 1) {
    EVP_PKEY_set_type(key, EVP_PKEY_NONE);
    EVP_PKEY_free(key);
  }
  STACK_OF(SSL_CIPHER) *ciphers = SSL_get_client_ciphers(ssl);
  if (ciphers) {
    sk_SSL_CIPHER_zero(ciphers);
    sk_SSL_CIPHER_reserve(ciphers, 0);
  }
  SSL_set_tlsext_host_name(ssl, NULL);
  SSL_SESSION *session = SSL_get_session(ssl);
  if (session) {
    SSL_SESSION_set1_hostname(session, NULL);
    SSL_SESSION_set1_alpn_selected(session, NULL, 0);
  }
  ERR_clear_error();
}
static inline void chirrup_bio_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline int chirrup_error_reason(unsigned long code) { return ERR_GET_REASON(code); }
static inline int chirrup_errno_of_openssl(void) { return errno; }

/// The key of a ticket's MAC (RFC 5077 §4).
static inline int chirrup_ticket_mac(EVP_MAC_CTX *context, unsigned char *key, size_t count) {
  OSSL_PARAM parameters[3];
  parameters[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key, count);
  parameters[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
  parameters[2] = OSSL_PARAM_construct_end();
  return EVP_MAC_CTX_set_params(context, parameters);
}

/// A context's key and digest (RFC 2104).
static inline int chirrup_hmac_sha256(EVP_MAC_CTX *context, const unsigned char *key, size_t count) {
  OSSL_PARAM parameters[2];
  parameters[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
  parameters[1] = OSSL_PARAM_construct_end();
  return EVP_MAC_init(context, key, count, parameters);
}

/// The certificate's DNS names, each followed by a line feed, as many as there is room for. Returns the bytes written.
static inline size_t chirrup_dns_names(const X509 *certificate, char *text, size_t room) {
  size_t used = 0;
  GENERAL_NAMES *names = (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  for (int index = 0; index < sk_GENERAL_NAME_num(names); index++) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    if (name->type != GEN_DNS) continue;
    size_t count = (size_t)ASN1_STRING_length(name->d.dNSName);
    if (count >= room - used) break;
    memcpy(text + used, ASN1_STRING_get0_data(name->d.dNSName), count);
    text[used + count] = '\n';
    used += count + 1;
  }
  GENERAL_NAMES_free(names);
  return used;
}

/// Whether clients that trust the system's authorities, or those of a PEM file, trust the context's chain: X509_V_OK or
/// the reason.
static inline int chirrup_chain_error(SSL_CTX *context, const char *authority) {
  int code = X509_V_ERR_UNSPECIFIED;
  STACK_OF(X509) *chain = NULL;
  X509_STORE *store = X509_STORE_new();
  X509_STORE_CTX *verification = X509_STORE_CTX_new();
  SSL_CTX_get0_chain_certs(context, &chain);
  if (store && verification &&
      (authority ? X509_STORE_load_file(store, authority) : X509_STORE_set_default_paths(store)) == 1 &&
      X509_STORE_CTX_init(verification, store, SSL_CTX_get0_certificate(context), chain) == 1) {
    X509_STORE_CTX_set_default(verification, "ssl_server");
    code = X509_verify_cert(verification) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(verification);
  }
  X509_STORE_CTX_free(verification);
  X509_STORE_free(store);
  return code;
}

/// Whether a key is one of the curve P-256, by its name: parameters that are written out are refused.
static inline int chirrup_is_p256(const EVP_PKEY *key) {
  char name[32];
  size_t length = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, name, sizeof name, &length) == 1 &&
         strcmp(name, "prime256v1") == 0;
}

/// SubjectPublicKeyInfo in DER of a new key of this type; its bytes, 0 if the parameters are none or the room is short.
static inline size_t chirrup_public_key(const char *type, OSSL_PARAM *parameters, unsigned char *der, size_t room) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  int count = 0;
  if (context && EVP_PKEY_fromdata_init(context) == 1 &&
      EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) == 1) {
    count = i2d_PUBKEY(key, NULL);
    count = count > 0 && (size_t)count <= room ? i2d_PUBKEY(key, &der) : 0;
  }
  EVP_PKEY_free(key);
  EVP_PKEY_CTX_free(context);
  return count > 0 ? (size_t)count : 0;
}

/// An RSA key by its modulus and its exponent, both big-endian.
static inline size_t chirrup_rsa_key(const unsigned char *modulus, size_t modulus_count, const unsigned char *exponent,
                                     size_t exponent_count, unsigned char *der, size_t room) {
  BIGNUM *n = BN_bin2bn(modulus, (int)modulus_count, NULL);
  BIGNUM *e = BN_bin2bn(exponent, (int)exponent_count, NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM *parameters = NULL;
  size_t count = 0;
  if (n && e && builder && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
    parameters = OSSL_PARAM_BLD_to_param(builder);
    if (parameters) count = chirrup_public_key("RSA", parameters, der, room);
  }
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_free(n);
  BN_free(e);
  return count;
}

/// A key of P-256 by its point, uncompressed (SEC 1 §2.3.3); OpenSSL refuses a point that is not on the curve.
static inline size_t chirrup_p256_key(unsigned char *point, size_t point_count, unsigned char *der, size_t room) {
  OSSL_PARAM parameters[3];
  parameters[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"prime256v1", 0);
  parameters[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, point_count);
  parameters[2] = OSSL_PARAM_construct_end();
  return chirrup_public_key("EC", parameters, der, room);
}

/// The signature r‖s of P-256 (RFC 7518 §3.4) in DER (RFC 3279 §2.2.3); its bytes, 0 if the room is short.
static inline size_t chirrup_ecdsa_signature(const unsigned char *raw, unsigned char *der, size_t room) {
  ECDSA_SIG *signature = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(raw, 32, NULL);
  BIGNUM *s = BN_bin2bn(raw + 32, 32, NULL);
  int count = 0;
  if (signature && r && s && ECDSA_SIG_set0(signature, r, s) == 1) {
    r = s = NULL;  // the signature owns them
    count = i2d_ECDSA_SIG(signature, NULL);
    count = count > 0 && (size_t)count <= room ? i2d_ECDSA_SIG(signature, &der) : 0;
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(signature);
  return count > 0 ? (size_t)count : 0;
}

/// A new key of P-256: its scalar in 32 bytes, big-endian, and its point in 65, uncompressed (SEC 1 §2.3.3).
static inline int chirrup_p256_generate(unsigned char *scalar, unsigned char *point) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  BIGNUM *number = NULL;
  size_t count = 0;
  int isMade = key && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1 &&
               BN_bn2binpad(number, scalar, 32) == 32 &&
               EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, 65, &count) == 1 && count == 65;
  BN_clear_free(number);
  EVP_PKEY_free(key);
  return isMade;
}

/// The private key of a scalar and its point; NULL if they are none. The caller frees it.
static inline EVP_PKEY *chirrup_p256_private(const unsigned char *scalar, const unsigned char *point) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  BIGNUM *number = BN_bin2bn(scalar, 32, NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM *parameters = NULL;
  if (context && number && builder &&
      OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 65) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1) {
    parameters = OSSL_PARAM_BLD_to_param(builder);
    if (parameters && EVP_PKEY_fromdata_init(context) == 1) {
      EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters);
    }
  }
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_clear_free(number);
  EVP_PKEY_CTX_free(context);
  return key;
}

/// HKDF with SHA-256 (RFC 5869): extract and expand.
static inline int chirrup_hkdf_sha256(unsigned char *salt, size_t salt_count, unsigned char *secret, size_t secret_count,
                                      unsigned char *info, size_t info_count, unsigned char *output, size_t count) {
  EVP_KDF *algorithm = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = EVP_KDF_CTX_new(algorithm);
  OSSL_PARAM parameters[5];
  parameters[0] = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0);
  parameters[1] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt, salt_count);
  parameters[2] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret, secret_count);
  parameters[3] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, info_count);
  parameters[4] = OSSL_PARAM_construct_end();
  int isDerived = context && EVP_KDF_derive(context, output, count, parameters) == 1;
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(algorithm);
  return isDerived;
}

/// The signature of ECDSA in DER (RFC 3279 §2.2.3) as r‖s of P-256 (RFC 7518 §3.4).
static inline int chirrup_ecdsa_raw(const unsigned char *der, size_t count, unsigned char *raw) {
  ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &der, (long)count);
  int isWritten = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw, 32) == 32 &&
                  BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw + 32, 32) == 32;
  ECDSA_SIG_free(signature);
  return isWritten;
}

/// The permission bits of a file, or -1 with errno.
static inline int chirrup_file_mode(const char *path) {
  struct stat information;
  return stat(path, &information) == 0 ? (int)(information.st_mode & 07777) : -1;
}
#endif
