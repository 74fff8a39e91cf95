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

#endif
