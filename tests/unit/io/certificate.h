/* SPDX-License-Identifier: MIT
 *
 * Certificates made by the test itself, signed by their own keys.
 */
#ifndef OCC_TESTS_UNIT_IO_CERTIFICATE_H
#define OCC_TESTS_UNIT_IO_CERTIFICATE_H

#include "lib/base/memory.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define DAY 86400

/* Texts in PEM. */
struct made_certificate {
    const char *certificate;
    const char *key;
};

static inline char *text_of(const void *context, BIO *bio)
{
    char *bytes;
    long length = BIO_get_mem_data(bio, &bytes);
    char *text = mem_text_part(context, bytes, (size_t)length);

    BIO_free(bio);
    return text;
}

static inline EVP_PKEY *make_key(void)
{
    EVP_PKEY_CTX *generator = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    EVP_PKEY *key = NULL;

    if (!generator || EVP_PKEY_keygen_init(generator) != 1 ||
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(generator, NID_X9_62_prime256v1) != 1 ||
        EVP_PKEY_keygen(generator, &key) != 1)
        abort();
    EVP_PKEY_CTX_free(generator);
    return key;
}

/* Valid between two moments, in seconds from now. */
static inline struct made_certificate make_certificate(const void *context, const char *name, long from,
                                                       long until)
{
    EVP_PKEY *key = make_key();
    X509 *certificate = X509_new();
    X509_NAME *subject = X509_get_subject_name(certificate);
    BIO *certificate_text = BIO_new(BIO_s_mem());
    BIO *key_text = BIO_new(BIO_s_mem());

    if (X509_set_version(certificate, 2) != 1 ||
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) !=
            1 ||
        X509_set_issuer_name(certificate, subject) != 1 || X509_set_pubkey(certificate, key) != 1 ||
        !X509_gmtime_adj(X509_getm_notBefore(certificate), from) ||
        !X509_gmtime_adj(X509_getm_notAfter(certificate), until) ||
        X509_sign(certificate, key, EVP_sha256()) == 0 ||
        PEM_write_bio_X509(certificate_text, certificate) != 1 ||
        PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) != 1)
        abort();
    X509_free(certificate);
    EVP_PKEY_free(key);
    return (struct made_certificate){text_of(context, certificate_text), text_of(context, key_text)};
}

/* The key of a text, encrypted with a password. */
static inline const char *encrypted(const void *context, const char *key)
{
    BIO *bio = BIO_new_mem_buf(key, -1);
    EVP_PKEY *read = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIO *written = BIO_new(BIO_s_mem());

    if (!read ||
        PEM_write_bio_PKCS8PrivateKey(written, read, EVP_aes_128_cbc(), "password", 8, NULL, NULL) != 1)
        abort();
    EVP_PKEY_free(read);
    BIO_free(bio);
    return text_of(context, written);
}

#endif
