/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/text.h"
#include "lib/io/pg_private.h"

#include <netdb.h>
#include <resolv.h>
#include <sys/socket.h>

static const char invalid_code[] = "DATABASE_CONFIGURATION_INVALID";

static bool invalid(struct fault *fault, const char *why)
{
    (void)fault_set(fault, FAULT_CONFIGURATION, invalid_code,
                    "A valid PostgreSQL connection URL must be explicitly configured. (%s)", why);
    return fault_depends(fault, "postgresql", "");
}

static const char *option(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword; options++) {
        if (strcmp(options->keyword, keyword) == 0)
            return text_is_empty(options->val) ? NULL : options->val;
    }
    return NULL;
}

/* Reads the URL by libpq's own rules. Its message is dropped: it may repeat any part of the URL. */
static PQconninfoOption *parse(const char *url, const char **why)
{
    PQconninfoOption *options;
    char *message = NULL;

    *why = "it is empty";
    if (text_is_empty(url))
        return NULL;
    *why = "its scheme is not postgresql: or postgres:";
    if (strncmp(url, "postgresql://", 13) != 0 && strncmp(url, "postgres://", 11) != 0)
        return NULL;
    *why = "it has characters that must be percent-encoded";
    for (const char *at = url; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return NULL;
    }
    options = PQconninfoParse(url, &message);
    if (!options) {
        *why = message && strstr(message, "query parameter") ? "it has an option that libpq does not know"
                                                             : "it is malformed";
        PQfreemem(message);
    }
    return options;
}

static bool is_port(const char *text, size_t length)
{
    char digits[6];
    uint64_t number;

    if (length == 0)
        return true; /* the default */
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return text_to_number(digits, 65535, &number) && number > 0;
}

static bool ports_are_valid(const char *ports)
{
    while (ports) {
        const char *comma = strchr(ports, ',');

        if (!is_port(ports, comma ? (size_t)(comma - ports) : strlen(ports)))
            return false;
        ports = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool is_one_of(const char *value, const char *const *allowed)
{
    if (!value)
        return true;
    for (; *allowed; allowed++) {
        if (strcmp(value, *allowed) == 0)
            return true;
    }
    return false;
}

/* What libpq itself would only find when it connects. */
static bool options_are_valid(const PQconninfoOption *options, const char **why)
{
    static const char *const modes[] = {"disable",   "allow",       "prefer", "require",
                                        "verify-ca", "verify-full", NULL};
    static const char *const sessions[] = {"any",     "read-write",     "read-only", "primary",
                                           "standby", "prefer-standby", NULL};

    *why = "a port is not a number from 1 to 65535";
    if (!ports_are_valid(option(options, "port")))
        return false;
    *why = "sslmode has an unknown value";
    if (!is_one_of(option(options, "sslmode"), modes))
        return false;
    *why = "target_session_attrs has an unknown value";
    return is_one_of(option(options, "target_session_attrs"), sessions);
}

bool pg_url_check(const struct secret *url, struct fault *fault)
{
    const char *why;
    PQconninfoOption *options = parse(url ? secret_expose(url) : NULL, &why);
    bool valid;

    if (!options)
        return invalid(fault, why);
    valid = options_are_valid(options, &why);
    PQconninfoFree(options);
    return valid ? true : invalid(fault, why);
}

/* ---- Places */

static size_t list_length(const char *list)
{
    size_t count = 1;

    if (!list)
        return 0;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* Copies element `index` of a comma-separated list; empty when there is none. */
static void list_copy(char *target, size_t size, const char *list, size_t index)
{
    size_t length;

    target[0] = '\0';
    for (; list && index > 0; index--) {
        list = strchr(list, ',');
        if (list)
            list++;
    }
    if (!list)
        return;
    length = strcspn(list, ",");
    if (length >= size)
        length = size - 1;
    memcpy(target, list, length);
    target[length] = '\0';
}

static struct pg_target *target_new(const void *context, const PQconninfoOption *options)
{
    struct pg_target *target = mem_new(context, struct pg_target);
    const char *hosts = option(options, "host");
    const char *addresses = option(options, "hostaddr");
    const char *ports = option(options, "port");
    const char *text;

    target->count = list_length(hosts);
    if (list_length(addresses) > target->count)
        target->count = list_length(addresses);
    if (target->count == 0 || option(options, "service"))
        target->count = 1;
    target->places = mem_array(target, struct pg_place, target->count);
    for (size_t i = 0; i < target->count && !option(options, "service"); i++) {
        struct pg_place *place = &target->places[i];

        list_copy(place->host, sizeof place->host, hosts, i);
        list_copy(place->address, sizeof place->address, addresses, i);
        list_copy(place->port, sizeof place->port, ports, list_length(ports) == 1 ? 0 : i);
    }
    if ((text = option(options, "target_session_attrs")))
        target->session = mem_text(target, text);
    if ((text = option(options, "password")))
        target->password = mem_text(target, text);
    if ((text = option(options, "user")))
        target->user = mem_text(target, text);
    if ((text = option(options, "service")))
        target->service = mem_text(target, text);
    return target;
}

static int target_wipe(struct pg_target *target)
{
    if (target->password)
        secret_wipe((void *)(uintptr_t)target->password, strlen(target->password));
    return 0;
}

bool pg_url_parse(const void *context, const struct secret *url, struct pg_target **target,
                  struct fault *fault)
{
    const char *why;
    PQconninfoOption *options = parse(url ? secret_expose(url) : NULL, &why);
    const char *password;

    if (!options)
        return invalid(fault, why);
    if (!options_are_valid(options, &why)) {
        PQconninfoFree(options);
        return invalid(fault, why);
    }
    *target = target_new(context, options);
    talloc_set_destructor(*target, target_wipe);
    password = option(options, "password");
    if (password)
        secret_wipe((void *)(uintptr_t)password, strlen(password));
    PQconninfoFree(options);
    return true;
}

/* ---- Names */

/* PGRES_OK-like defaults of libpq (environment included), for what the URL leaves open. */
static const char *default_of(const void *context, const char *keyword)
{
    PQconninfoOption *defaults = PQconndefaults();
    const char *value = defaults ? option(defaults, keyword) : NULL;
    char *copy = mem_text(context, value ? value : "");

    if (defaults)
        PQconninfoFree(defaults);
    return copy;
}

const char *pg_url_name(const void *context, const struct pg_place *place)
{
    const char *host = place->host[0] ? place->host : place->address;
    const char *port = place->port;

    if (!host[0])
        host = default_of(context, "host");
    if (!host[0])
        host = DEFAULT_SOCKET_FOLDER;
    if (!port[0])
        port = default_of(context, "port");
    if (host[0] != '/' && strchr(host, ':'))
        return mem_format(context, "[%s]:%s", host, port);
    return mem_format(context, "%s:%s", host, port);
}

void pg_url_describe(const void *context, const struct secret *url, const char **host, const char **database)
{
    const char *why;
    PQconninfoOption *options = parse(url ? secret_expose(url) : NULL, &why);
    struct pg_target *target;
    const char *name;
    char *hosts;

    *host = "";
    *database = "";
    if (!options)
        return;
    target = target_new(context, options);
    talloc_set_destructor(target, target_wipe);
    hosts = mem_text(context, "");
    for (size_t i = 0; i < target->count; i++)
        hosts = mem_append(hosts, "%s%s", i > 0 ? "," : "", pg_url_name(target, &target->places[i]));
    *host = hosts;
    name = option(options, "dbname");
    if (!name)
        name = default_of(target, "dbname");
    if (text_is_empty(name))
        name = target->user ? target->user : default_of(target, "user");
    *database = mem_text(context, name);
    talloc_free(target);
    PQconninfoFree(options);
}

/* ---- Name resolution */

/* libpq resolves names with a call that blocks for as long as the resolver likes (5 s a server, twice). Ours
 * blocks as well, but for a second a server, once, whatever the environment says; see resolver(3). */
static void resolve_briefly(void)
{
    static bool done;

    if (done)
        return;
    done = true;
    if (res_init() != 0)
        return;
    _res.retrans = 1;
    _res.retry = 1;
}

bool pg_url_resolve(const void *context, const struct pg_place *place, const char ***addresses, size_t *count,
                    struct fault *fault)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char **list;
    size_t length = 0;
    int error;

    if (place->address[0] || !place->host[0] || place->host[0] == '/' || place->host[0] == '@') {
        *addresses = mem_array(context, const char *, 1);
        *count = 1;
        return true;
    }
    resolve_briefly();
    error = getaddrinfo(place->host, NULL, &hints, &found);
    if (error != 0) {
        (void)fault_set(fault, FAULT_UNAVAILABLE, "PERSISTENCE_UNAVAILABLE",
                        "PostgreSQL's host name %s was not resolved: %s", place->host, gai_strerror(error));
        return fault_depends(fault, "postgresql",
                             error == EAI_NONAME || error == EAI_NODATA ? PG_CAUSE_NO_SUCH_HOST
                                                                        : "unreachable");
    }
    for (struct addrinfo *at = found; at; at = at->ai_next)
        length++;
    list = mem_array(context, const char *, length + 1);
    length = 0;
    for (struct addrinfo *at = found; at; at = at->ai_next) {
        char text[PG_HOST_SIZE];

        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
            list[length++] = mem_text(list, text);
    }
    freeaddrinfo(found);
    if (length == 0)
        length = 1; /* one NULL: let libpq try */
    *addresses = list;
    *count = length;
    return true;
}
