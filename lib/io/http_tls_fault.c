/* SPDX-License-Identifier: MIT
 *
 * curl has few codes for what can go wrong with TLS. OpenSSL's verdict on the server's certificate tells the
 * one half of the rest; the other half, what the server said and whether it speaks TLS at all, is in
 * OpenSSL's error code, which curl passes on in its words only ("error:0A000418:SSL routines::…").
 */
#include "lib/base/build.h"

#include "lib/io/http_private.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#define CODE "HTTP_TLS_FAILED"

struct verdict {
    const char *cause;
    const char *what; /* as the rest of a sentence about the server; NULL: TLS did not fail */
};

/* ---- The server's certificate */

static struct verdict on_certificate(const struct http *client)
{
    long result = X509_V_OK;

    (void)curl_easy_getinfo(client->easy, CURLINFO_SSL_VERIFYRESULT, &result);
    switch (result) {
    case X509_V_OK:              /* it is vouched for, and yet curl does not take it */
    case X509_V_ERR_UNSPECIFIED: /* so curl begins; it compares the name itself */
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return (struct verdict){"other-name", client->tls && client->tls->server_name
                                                  ? "showed a certificate that is not for the server name "
                                                    "that is configured"
                                                  : "showed a certificate that is for another name"};
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return (struct verdict){"expired", "showed a certificate that has expired, or whose CA's has"};
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return (struct verdict){"not-yet-valid", "showed a certificate that is not valid yet, or whose CA's "
                                                 "is not: compare the clocks"};
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
    case X509_V_ERR_EE_KEY_TOO_SMALL:
        return (struct verdict){"untrusted", "showed a certificate that is not good enough: it, or its CA's, "
                                             "is not meant for a server, or its key or digest is too weak"};
    default:
        return (struct verdict){"untrusted",
                                "showed a certificate that no trusted certificate vouches for: another CA"};
    }
}

/* ---- What the server said */

/* OpenSSL's reason in curl's words; 0 without one. */
static int reason_in(const char *words)
{
    static const char mark[] = "error:";
    const char *at = words;

    while ((at = strstr(at, mark))) {
        unsigned long code;

        at += sizeof mark - 1;
        code = strtoul(at, NULL, 16);
        if (ERR_GET_LIB(code) == ERR_LIB_SSL)
            return ERR_GET_REASON(code);
    }
    return 0;
}

static struct verdict on_missing(void)
{
    return (struct verdict){"refused", "demands a client certificate, and none is configured"};
}

/* The alerts of RFC 8446 section 6.2 by which a server ends the connection. */
static struct verdict on_alert(const struct http *client, int alert)
{
    bool shown = client->tls && client->tls->certificate;

    switch (alert) {
    case SSL3_AD_HANDSHAKE_FAILURE: /* with TLS 1.2 also: no certificate was shown */
        if (!shown)
            return (struct verdict){"refused", "refused the TLS handshake: perhaps it demands a client "
                                               "certificate, and none is configured"};
        return (struct verdict){"refused", "refused the TLS handshake: its algorithms and ours differ"};
    case TLS13_AD_CERTIFICATE_REQUIRED:
        return on_missing();
    case SSL3_AD_CERTIFICATE_EXPIRED:
        return (struct verdict){"refused", "refused our client certificate: it has expired"};
    case SSL3_AD_CERTIFICATE_REVOKED:
        return (struct verdict){"refused", "refused our client certificate: it was revoked"};
    case TLS1_AD_UNKNOWN_CA:
        return shown ? (struct verdict){"refused", "refused our client certificate: no CA that it trusts "
                                                   "vouches for it"}
                     : on_missing();
    case SSL3_AD_NO_CERTIFICATE:
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_ACCESS_DENIED:
    case TLS1_AD_DECRYPT_ERROR:
        return shown ? (struct verdict){"refused", "refused our client certificate"} : on_missing();
    case TLS1_AD_PROTOCOL_VERSION:
    case TLS1_AD_INSUFFICIENT_SECURITY:
        return (struct verdict){"no-tls", "speaks no TLS of version 1.2 or later"};
    case TLS1_AD_UNRECOGNIZED_NAME:
        return (struct verdict){"other-name", "knows no server of the name that it was asked for"};
    default:
        return (struct verdict){0};
    }
}

static struct verdict on_reason(const struct http *client, int reason)
{
    if (reason >= SSL_AD_REASON_OFFSET)
        return on_alert(client, reason - SSL_AD_REASON_OFFSET);
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER: /* what came is no record of TLS */
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_UNEXPECTED_RECORD:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNKNOWN_PROTOCOL:
        return (struct verdict){"no-tls", "speaks no TLS: is it a port of plain http?"};
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_SSL_VERSION:
        return (struct verdict){"no-tls", "speaks no TLS of version 1.2 or later"};
    case SSL_R_DH_KEY_TOO_SMALL:
    case SSL_R_EE_KEY_TOO_SMALL:
    case SSL_R_CA_KEY_TOO_SMALL:
    case SSL_R_CA_MD_TOO_WEAK:
        return (struct verdict){"untrusted", "uses a key or digest that is too weak"};
    default:
        return (struct verdict){0};
    }
}

bool http_tls_fault(const struct http *client, const struct http_answer *answer, CURLcode result,
                    struct fault *fault)
{
    struct verdict verdict = {0};

    switch (result) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        verdict = on_certificate(client);
        break;
    case CURLE_SSL_CLIENTCERT:
        verdict = on_missing();
        break;
    case CURLE_SSL_CACERT_BADFILE:
        verdict = (struct verdict){"unusable", "cannot be verified: the trusted certificates are not usable"};
        break;
    case CURLE_SSL_CERTPROBLEM:
        verdict = (struct verdict){
            "unusable", "cannot be asked: our client certificate and its key are not usable together"};
        break;
    case CURLE_SSL_CIPHER:
        verdict = (struct verdict){"no-tls", "has no cipher in common with us"};
        break;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_RECV_ERROR: /* TLS 1.3 refuses after the handshake */
    case CURLE_SEND_ERROR:
        verdict = on_reason(client, reason_in(answer->words));
        break;
    default:
        break;
    }
    if (!verdict.what)
        return false;
    (void)http_fault_about(client, CODE, verdict.cause, verdict.what, fault);
    return true;
}
