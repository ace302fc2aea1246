/* SPDX-License-Identifier: MIT
 *
 * Which addresses a host name led to: where name servers rotate them and not all may be reached, a name alone
 * tells nobody why every second request fails (K121).
 */
#include "lib/base/build.h"

#include "lib/io/http_private.h"

#include <netdb.h>

static void note(struct http *client, const char *address)
{
    size_t length = strlen(client->tried);

    /* An address in the URL itself is told with it. What has no room is left out: the first ones say enough.
     */
    if (!strstr(client->options.base_url, address) &&
        length + strlen(address) + sizeof ", " <= sizeof client->tried)
        (void)snprintf(client->tried + length, sizeof client->tried - length, "%s%s", length > 0 ? ", " : "",
                       address);
}

curl_socket_t http_open_socket(void *subject, curlsocktype purpose, struct curl_sockaddr *address)
{
    char text[NI_MAXHOST];

    (void)purpose;
    if (address->family != AF_UNIX &&
        getnameinfo(&address->addr, address->addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
        note(subject, text);
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
