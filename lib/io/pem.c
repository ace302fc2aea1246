/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pem.h"

#include "lib/base/memory.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <limits.h>
#include <time.h>

static BIO *reader(const struct secret *pem)
{
    size_t length = secret_length(pem);
    BIO *bio = BIO_new_mem_buf(secret_expose(pem), length > INT_MAX ? INT_MAX : (int)length);

    if (!bio)
        mem_exhausted();
    return bio;
}

/* Whether OpenSSL stopped because there is no further block, and not at a bad one. */
static bool is_at_end(void)
{
    unsigned long error = ERR_peek_last_error();

    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static bool has_zero(const struct secret *pem)
{
    return strlen(secret_expose(pem)) != secret_length(pem);
}

/* OpenSSL would ask the terminal. */
static int no_password(char *room, int size, int writing, void *subject)
{
    bool *asked = subject;

    (void)room;
    (void)size;
    (void)writing;
    if (asked)
        *asked = true;
    return -1;
}

const char *pem_wrong_certificates(const struct secret *pem)
{
    BIO *bio = reader(pem);
    const char *wrong = NULL;
    size_t count = 0;
    X509 *certificate;

    ERR_clear_error();
    while ((certificate = PEM_read_bio_X509(bio, NULL, no_password, NULL))) {
        X509_free(certificate);
        count++;
    }
    if (has_zero(pem))
        wrong = "holds a zero byte";
    else if (!is_at_end())
        wrong = "holds a malformed certificate";
    else if (count == 0)
        wrong = "holds no certificate in PEM";
    ERR_clear_error();
    BIO_free(bio);
    return wrong;
}

static EVP_PKEY *read_key(const struct secret *pem, bool *encrypted)
{
    BIO *bio = reader(pem);
    EVP_PKEY *key;

    ERR_clear_error();
    key = PEM_read_bio_PrivateKey(bio, NULL, no_password, encrypted);
    BIO_free(bio);
    return key;
}

const char *pem_wrong_key(const struct secret *pem)
{
    bool encrypted = false;
    EVP_PKEY *key = read_key(pem, &encrypted);
    const char *wrong = NULL;

    if (has_zero(pem))
        wrong = "holds a zero byte";
    else if (!key && encrypted)
        wrong = "holds a private key that is encrypted; nobody could give its password";
    else if (!key)
        wrong = strstr(secret_expose(pem), "PRIVATE KEY-----") ? "holds a malformed private key"
                                                               : "holds no private key in PEM";
    EVP_PKEY_free(key);
    ERR_clear_error();
    return wrong;
}

static X509 *first_certificate(const struct secret *pem)
{
    BIO *bio = reader(pem);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, no_password, NULL);

    BIO_free(bio);
    return certificate;
}

bool pem_key_fits(const struct secret *certificate, const struct secret *key)
{
    X509 *shown = first_certificate(certificate);
    EVP_PKEY *held = read_key(key, NULL);
    bool fits = shown && held && X509_check_private_key(shown, held) == 1;

    X509_free(shown);
    EVP_PKEY_free(held);
    ERR_clear_error();
    return fits;
}

static int64_t seconds_of(const ASN1_TIME *moment)
{
    struct tm broken = {0};

    return ASN1_TIME_to_tm(moment, &broken) == 1 ? (int64_t)timegm(&broken) : 0;
}

void pem_validity(const struct secret *certificate, int64_t *from, int64_t *until)
{
    X509 *shown = first_certificate(certificate);

    *from = shown ? seconds_of(X509_get0_notBefore(shown)) : 0;
    *until = shown ? seconds_of(X509_get0_notAfter(shown)) : 0;
    X509_free(shown);
    ERR_clear_error();
}
