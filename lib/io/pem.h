/* SPDX-License-Identifier: MIT
 *
 * Certificates and private keys as PEM text (RFC 7468), looked at before TLS meets them, so that an operator
 * hears which file is wrong and why. By OpenSSL; no password is ever asked for.
 *
 * What is wrong comes back as the rest of a sentence about the file, and shows nothing of it: "holds no
 * certificate". NULL: nothing is.
 */
#ifndef OCC_IO_PEM_H
#define OCC_IO_PEM_H

#include "lib/base/secret.h"

/* Of one or several certificates; blocks of other kinds between them do not matter. */
const char *pem_wrong_certificates(const struct secret *pem);

/* Of the first private key in a text. One that is encrypted is wrong, too: nobody could open it. */
const char *pem_wrong_key(const struct secret *pem);

/* Of a key and the first certificate of a chain, each without fault for the above: whether they belong
 * together. */
bool pem_key_fits(const struct secret *certificate, const struct secret *key);

/* From when to when the first certificate of a faultless text is valid, in seconds since the Unix epoch. */
void pem_validity(const struct secret *certificate, int64_t *from, int64_t *until);

#endif
