/* SPDX-License-Identifier: MIT
 *
 * Drives lib/io/pg.h by commands on stdin, one a line, and answers each with one JSON object on stdout, so
 * that a test can do things to the server in between. The URL comes from the variable PROBE_URL.
 *
 *     connect TIMEOUT_MS [read_only] [steady_plans] [same_address]
 *     run STATEMENT [;; STATEMENT ...]     start ...     advance     finish
 *         A STATEMENT is SQL, or "@NAME SQL" for a named one; "$$ A | B" after it gives parameters.
 *     watch MS      the next waits have a watch which ends them after MS (0: which only counts its turns)
 *     big BYTES     sends a parameter of that size and answers with its length
 *     nowatch   listen CHANNEL   notifications WAIT_MS   script SQL   state   free   check   describe
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/io/pg.h"

static void *top;
static void *held; /* the batch of start */
static struct pg *connection;
static struct pg_batch *started;
static size_t started_count;

static struct {
    bool on;
    int64_t end_ms;
    int64_t next_ms;
    size_t turns;
} watching;

static struct pg_statement statements[64]; /* names live as long as the program */
static size_t statement_count;

static size_t prepare_watch(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    (void)subject;
    (void)room;
    if (watching.next_ms < *wake_ms)
        *wake_ms = watching.next_ms;
    return 0;
}

static bool turn_watch(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    int64_t now_ms = clock_now_ms();

    (void)subject;
    (void)ready;
    (void)count;
    watching.turns++;
    watching.next_ms = now_ms + 20;
    if (watching.end_ms && now_ms >= watching.end_ms)
        return fault_set(fault, FAULT_CANCELLED, "PROBE_CANCELLED", "the watch ended it");
    return true;
}

static const struct watch watch = {.prepare = prepare_watch, .turn = turn_watch};

static const struct watch *current_watch(void)
{
    return watching.on ? &watch : NULL;
}

static void put_text(const char *text)
{
    if (!text) {
        printf("null");
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void put_fault(const struct fault *fault)
{
    static const char *const classes[] = {
        "none",        "pending", "retryable", "permanent", "claim_lost", "cancelled", "configuration",
        "unavailable", "invalid", "denied",    "not_found", "conflict",   "bug",
    };

    printf("{\"ok\": false, \"class\": \"%s\", \"code\": ", classes[fault->class]);
    put_text(fault->code);
    printf(", \"message\": ");
    put_text(fault->message);
    printf(", \"origin\": ");
    put_text(fault->origin);
    printf(", \"cause\": ");
    put_text(fault->cause);
    printf(", \"dependency\": ");
    put_text(fault->dependency);
}

static void put_state(void)
{
    printf(", \"turns\": %zu", watching.turns);
    if (connection) {
        printf(", \"pooled\": %s, \"broken\": %s, \"unknown\": %s, \"constraint\": ",
               pg_is_pooled(connection) ? "true" : "false", pg_is_broken(connection) ? "true" : "false",
               pg_outcome_unknown(connection) ? "true" : "false");
        put_text(pg_constraint(connection));
    }
    printf("}\n");
    (void)fflush(stdout);
}

static void answer(bool ok, const struct fault *fault)
{
    if (ok)
        printf("{\"ok\": true");
    else
        put_fault(fault);
    put_state();
}

static void put_results(const struct pg_batch *batch, size_t count)
{
    printf("{\"ok\": true, \"results\": [");
    for (size_t i = 0; i < count; i++) {
        const struct pg_result *result = pg_batch_result(batch, i);

        printf("%s{\"affected\": %zu, \"rows\": [", i > 0 ? ", " : "", pg_affected(result));
        for (size_t row = 0; row < pg_rows(result); row++) {
            printf(row > 0 ? ", " : "");
            put_text(pg_text(result, row, 0));
        }
        printf("]}");
    }
    printf("]");
    put_state();
}

/* Cuts `text` at the first `mark` and returns what follows it, or NULL. */
static char *cut(char *text, const char *mark)
{
    char *at = strstr(text, mark);

    if (!at)
        return NULL;
    *at = '\0';
    return at + strlen(mark);
}

static const struct pg_statement *statement_of(char *text, int parameters)
{
    char *sql = text;
    const char *name = NULL;
    struct pg_statement *made;

    if (text[0] == '@') {
        name = text + 1;
        sql = cut(text, " ");
        for (size_t i = 0; i < statement_count; i++) {
            if (statements[i].name && strcmp(statements[i].name, name) == 0)
                return &statements[i];
        }
    }
    if (statement_count == COUNT_OF(statements))
        abort();
    made = &statements[statement_count++];
    made->name = name ? mem_text(top, name) : NULL;
    made->sql = mem_text(top, sql);
    made->parameters = parameters;
    return made;
}

static size_t fill(struct pg_batch *batch, char *line)
{
    size_t count = 0;

    for (char *next; line; line = next) {
        const char *values[PG_PARAMETERS] = {0};
        int parameters = 0;
        char *rest;

        next = cut(line, " ;; ");
        rest = cut(line, " $$ ");
        for (char *value = rest; value; value = rest) {
            rest = cut(value, " | ");
            values[parameters++] = strcmp(value, "NULL") == 0 ? NULL : value;
        }
        (void)pg_batch_add(batch, statement_of(line, parameters), values);
        count++;
    }
    return count;
}

static void do_connect(char *arguments)
{
    struct secret *url = secret_new(top, getenv("PROBE_URL"), strlen(getenv("PROBE_URL")));
    struct pg_options options = {
        .url = url,
        .application_name = "pg_probe",
        .timeout_ms = (int)strtol(arguments, NULL, 10),
        .read_only = strstr(arguments, "read_only") != NULL,
        .steady_plans = strstr(arguments, "steady_plans") != NULL,
        .same_address = strstr(arguments, "same_address") != NULL,
        .watch = current_watch(),
    };
    struct fault fault;
    bool ok;

    talloc_free(connection);
    connection = NULL;
    ok = pg_connect(top, &options, &connection, &fault);
    answer(ok, &fault);
    talloc_free(url);
}

static void do_run(char *arguments)
{
    void *context = talloc_new(top);
    struct pg_batch *batch = pg_batch_new(context);
    size_t count = fill(batch, arguments);
    struct fault fault;

    if (pg_run(connection, batch, current_watch(), &fault))
        put_results(batch, count);
    else
        answer(false, &fault);
    talloc_free(context);
}

static void do_big(const char *arguments)
{
    static const struct pg_statement statement = {.sql = "select pg_catalog.length($1::text)",
                                                  .parameters = 1};
    void *context = talloc_new(top);
    struct pg_batch *batch = pg_batch_new(context);
    size_t size = strtoul(arguments, NULL, 10);
    char *value = mem_array(context, char, size + 1);
    struct fault fault;

    memset(value, 'x', size);
    (void)pg_batch_add(batch, &statement, (const char *const[]){value});
    if (pg_run(connection, batch, current_watch(), &fault))
        put_results(batch, 1);
    else
        answer(false, &fault);
    talloc_free(context);
}

static void do_start(char *arguments)
{
    struct fault fault;

    talloc_free(held);
    held = talloc_new(top);
    started = pg_batch_new(held);
    started_count = fill(started, arguments);
    answer(pg_start(connection, started, &fault), &fault);
}

static void do_advance(void)
{
    struct fault fault;
    bool done;

    if (!pg_advance(connection, &done, &fault))
        answer(false, &fault);
    else if (done)
        put_results(started, started_count);
    else
        answer(true, NULL);
}

static void do_finish(void)
{
    struct fault fault;

    if (pg_finish(connection, current_watch(), &fault))
        put_results(started, started_count);
    else
        answer(false, &fault);
}

static void do_notifications(const char *arguments)
{
    int64_t end_ms = clock_now_ms() + strtol(arguments, NULL, 10);
    struct fault fault;
    size_t count = 0;
    size_t all = 0;
    bool ready;

    do {
        struct pollfd own = {.fd = pg_socket(connection), .events = POLLIN};

        if (!pg_notifications(connection, &count, &fault)) {
            answer(false, &fault);
            return;
        }
        all += count;
        if (all == 0 && !watch_wait(NULL, &own, 1, end_ms, &ready, &fault))
            abort();
    } while (all == 0 && clock_now_ms() < end_ms);
    printf("{\"ok\": true, \"count\": %zu", all);
    put_state();
}

static void do_describe(bool check)
{
    struct secret *url = secret_new(top, getenv("PROBE_URL"), strlen(getenv("PROBE_URL")));
    struct fault fault;
    const char *host;
    const char *database;

    if (check) {
        answer(pg_url_check(url, &fault), &fault);
    } else {
        pg_url_describe(url, url, &host, &database);
        printf("{\"ok\": true, \"host\": ");
        put_text(host);
        printf(", \"database\": ");
        put_text(database);
        put_state();
    }
    talloc_free(url);
}

static void set_watch(const char *arguments)
{
    int64_t after_ms = strtol(arguments, NULL, 10);

    watching.on = true;
    watching.turns = 0;
    watching.next_ms = clock_now_ms();
    watching.end_ms = after_ms > 0 ? clock_now_ms() + after_ms : 0;
    answer(true, NULL);
}

static bool do_line(char *command, char *arguments)
{
    static const char *const unconnected[] = {"connect", "check", "describe", "watch",
                                              "nowatch", "state", "free"};
    struct fault fault;
    bool needs = true;

    for (size_t i = 0; i < COUNT_OF(unconnected); i++)
        needs = needs && strcmp(command, unconnected[i]) != 0;
    if (needs && !connection)
        return false;
    if (strcmp(command, "connect") == 0)
        do_connect(arguments);
    else if (strcmp(command, "run") == 0)
        do_run(arguments);
    else if (strcmp(command, "big") == 0)
        do_big(arguments);
    else if (strcmp(command, "start") == 0)
        do_start(arguments);
    else if (strcmp(command, "advance") == 0)
        do_advance();
    else if (strcmp(command, "finish") == 0)
        do_finish();
    else if (strcmp(command, "watch") == 0)
        set_watch(arguments);
    else if (strcmp(command, "notifications") == 0)
        do_notifications(arguments);
    else if (strcmp(command, "listen") == 0)
        answer(pg_listen(connection, arguments, current_watch(), &fault), &fault);
    else if (strcmp(command, "script") == 0)
        answer(pg_script(connection, arguments, &fault), &fault);
    else if (strcmp(command, "check") == 0 || strcmp(command, "describe") == 0)
        do_describe(command[0] == 'c');
    else if (strcmp(command, "nowatch") == 0 || strcmp(command, "state") == 0 ||
             strcmp(command, "free") == 0) {
        if (command[0] == 'n')
            watching.on = false;
        if (command[0] == 'f') {
            talloc_free(connection);
            connection = NULL;
        }
        answer(true, NULL);
    } else
        return false;
    return true;
}

int main(void)
{
    char line[16384];
    int status = 0;

    top = talloc_new(NULL);
    while (status == 0 && fgets(line, sizeof line, stdin)) {
        char *arguments;

        line[strcspn(line, "\n")] = '\0';
        arguments = cut(line, " ");
        if (!do_line(line, arguments ? arguments : line + strlen(line))) {
            (void)fprintf(stderr, "pg_probe: no such command: %s\n", line);
            status = 2;
        }
    }
    talloc_free(top);
    return status;
}
