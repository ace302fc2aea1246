/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/kubeconfig.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <strings.h>

#define SCHEME "https://"
#define URL_MOST 1024
#define NAME_MOST 253 /* RFC 1035, without the dot at the end */

#define OF_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

static bool is_ipv6(const char *text, size_t length)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr ignored;

    if (length >= sizeof address)
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, &ignored) == 1;
}

/* A host's name or address: letters, digits, "-", "_" and ".", or an IPv6 address in brackets. */
static size_t host_length(const char *host)
{
    size_t length;

    if (*host != '[')
        return strspn(host, OF_NAME);
    length = strcspn(host + 1, "]");
    return host[length + 1] == ']' && is_ipv6(host + 1, length) ? length + 2 : 0;
}

bool kubeconfig_is_server_name(const char *name)
{
    size_t length = strlen(name);

    return length <= NAME_MOST && (strspn(name, OF_NAME) == length || is_ipv6(name, length));
}

/* RFC 3986 section 3.3, without the characters that would start a query or fragment. */
static bool is_path(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-._~%!$&'()*+,;=:@/";

    return !*text || (*text == '/' && strspn(text, allowed) == strlen(text));
}

const char *kubeconfig_server(const void *context, const char *url, const char **server, const char **place)
{
    const char *host = url + strlen(SCHEME);
    const char *rest;
    char port_text[8] = "443";
    uint64_t port = 443;
    size_t length;
    char *path;

    if (strlen(url) > URL_MOST)
        return "is too long";
    if (strncasecmp(url, "http://", 7) == 0)
        return "is plain http, which is not possible: it must begin with https://";
    if (strncasecmp(url, SCHEME, strlen(SCHEME)) != 0)
        return "must begin with https://";
    length = host_length(host);
    if (length == 0)
        return "names no host";
    rest = host + length;
    if (*rest == '@' || (*rest == ':' && strchr(rest, '@') && strcspn(rest, "/") > strcspn(rest, "@")))
        return "must not hold a user or password";
    if (*rest == ':') {
        size_t digits = strspn(rest + 1, "0123456789");

        if (digits == 0 || digits >= sizeof port_text)
            return "has a port that is none";
        memcpy(port_text, rest + 1, digits);
        port_text[digits] = '\0';
        if (!text_to_number(port_text, 65535, &port) || port == 0)
            return "has a port that is none";
        rest += 1 + digits;
    }
    if (strchr(rest, '?') || strchr(rest, '#'))
        return "must not hold a query or fragment";
    if (!is_path(rest))
        return "is no URL";
    path = mem_text(context, rest);
    for (size_t end = strlen(path); end > 0 && path[end - 1] == '/'; end--)
        path[end - 1] = '\0';
    *place = mem_format(context, "%.*s:%" PRIu64, (int)length, host, port);
    *server = mem_format(context, SCHEME "%s%s", *place, path);
    talloc_free(path);
    return NULL;
}
