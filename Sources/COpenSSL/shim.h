// OpenSSL 3: TLS, digests, elliptic-curve signatures, AES-GCM and certificates.
#ifndef OPENPUSHD_COPENSSL_SHIM_H
#define OPENPUSHD_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift imports functions and plain constants, but no function-like macros: each of those used has a function here.

// SSL_CTX_set_min_proto_version, fixed to the only floor used.
static inline int openpushd_context_require_tls12(SSL_CTX *context) {
    return (int)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

// SSL_CTX_set_session_cache_mode.
static inline void openpushd_context_disable_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

// SSL_CTX_set_options takes a 64-bit set whose constants are macros with casts.
static inline void openpushd_context_set_options(SSL_CTX *context, int is_server) {
    uint64_t options = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION;
    if (is_server) options |= SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
    SSL_CTX_set_options(context, options);
}

// SSL_CTX_add1_chain_cert.
static inline int openpushd_context_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

// SSL_set_tlsext_host_name.
static inline int openpushd_session_set_server_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

// BIO_get_mem_data.
static inline size_t openpushd_memory_bio_bytes(BIO *bio, const unsigned char **bytes) {
    char *data = NULL;
    long count = BIO_get_mem_data(bio, &data);
    *bytes = (const unsigned char *)data;
    return count > 0 ? (size_t)count : 0;
}

// EVP_EC_gen; EVP_PKEY_Q_keygen behind it is variadic.
static inline EVP_PKEY *openpushd_generate_p256_key(void) {
    return EVP_EC_gen("P-256");
}

// EVP_RSA_gen; EVP_PKEY_Q_keygen behind it is variadic.
static inline EVP_PKEY *openpushd_generate_rsa_key(unsigned int bit_count) {
    return EVP_RSA_gen(bit_count);
}

// BIO_set_retry_read after BIO_clear_retry_flags.
static inline void openpushd_bio_wants_input(BIO *bio) {
    BIO_clear_retry_flags(bio);
    BIO_set_retry_read(bio);
}

// X509V3_set_ctx and X509V3_set_ctx_nodb (a macro) around X509V3_EXT_conf_nid: adds one extension given in openssl.cnf notation.
static inline int openpushd_certificate_add_extension(X509 *certificate, X509 *issuer, int identifier, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, identifier, value);
    if (extension == NULL) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

#endif
