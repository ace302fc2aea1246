/* SPDX-License-Identifier: MIT
 *
 * /inspect: what a test wants to know of the inside. Names, sizes and a hash; never a value that is secret.
 */
#include "lib/base/build.h"

#include "tests/services/runtime/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

extern char **environ;

static void tell_text(FILE *out, const char *name, const char *value)
{
    (void)fprintf(out, "\"%s\": \"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            (void)fputc('\\', out);
        (void)fputc(*value, out);
    }
    (void)fputs("\", ", out);
}

static void tell_environment(FILE *out)
{
    char **each;

    (void)fputs("\"environment\": [", out);
    for (each = environ; *each; each++)
        (void)fprintf(out, "%s\"%.*s\"", each == environ ? "" : ", ", (int)strcspn(*each, "="), *each);
    (void)fputs("], ", out);
}

static void tell_document(FILE *out)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char digits[2 * sizeof hash + 1] = "";
    size_t length;
    char *document = read_file(variable("OPENCLAW_CONFIG_PATH"), &length);

    if (document) {
        (void)crypto_hash_sha256(hash, (const unsigned char *)document, length);
        (void)sodium_bin2hex(digits, sizeof digits, hash, sizeof hash);
        free(document);
    }
    tell_text(out, "documentSha256", digits);
}

static void tell_bindings(FILE *out)
{
    const char *folder = variable("OPENCLAW_BINDINGS_DIR");
    DIR *open = *folder ? opendir(folder) : NULL;
    const struct dirent *each;
    const char *comma = "";

    (void)fputs("\"bindings\": [", out);
    while (open && (each = readdir(open))) {
        if (each->d_name[0] == '.')
            continue;
        (void)fprintf(out, "%s\"%s\"", comma, each->d_name);
        comma = ", ";
    }
    if (open)
        (void)closedir(open);
    (void)fputs("], ", out);
}

/* "yes", or the error's name. */
static const char *try_write(const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const char *trouble = strerrorname_np(errno);

    if (file < 0)
        return trouble ? trouble : "?";
    (void)close(file);
    (void)unlink(path);
    return "yes";
}

static void tell_writable(FILE *out)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/probe", variable("OPENCLAW_STATE_DIR"));
    (void)fputs("\"writable\": {", out);
    tell_text(out, "root", try_write("/probe"));
    tell_text(out, "temporary", try_write("/tmp/probe"));
    tell_text(out, "document",
              access(variable("OPENCLAW_CONFIG_PATH"), W_OK) == 0 ? "yes" : strerrorname_np(errno));
    (void)fprintf(out, "\"state\": \"%s\"}, ", try_write(path));
}

/* A field of /proc/self/status. */
static void tell_status(FILE *out, const char *name, const char *field)
{
    size_t length;
    char *status = read_file("/proc/self/status", &length);
    const char *at = status ? strstr(status, field) : NULL;

    if (at) {
        at += strlen(field);
        at += strspn(at, ":\t ");
    }
    (void)fprintf(out, "\"%s\": \"%.*s\", ", name, at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    free(status);
}

void describe(const struct runtime *runtime, FILE *out)
{
    size_t length;
    char *token = read_file(variable("OPENCLAW_SERVICE_PRINCIPAL_TOKEN_FILE"), &length);

    free(token);
    (void)fputc('{', out);
    tell_text(out, "role", variable("OPENCLAW_WORKLOAD_ROLE"));
    tell_text(out, "mode", variable("OPENCLAW_EXECUTION_MODE"));
    tell_text(out, "revision", variable("OPENCLAW_AGENT_REVISION_ID"));
    tell_text(out, "endpoint", variable("OPENCLAW_HARNESS_ENDPOINT"));
    tell_environment(out);
    tell_document(out);
    tell_bindings(out);
    tell_writable(out);
    tell_status(out, "capabilities", "\nCapBnd");
    tell_status(out, "noNewPrivileges", "\nNoNewPrivs");
    tell_status(out, "seccomp", "\nSeccomp");
    (void)fprintf(out, "\"token\": %s, \"serviceAccountMounted\": %s, ", length > 0 ? "true" : "false",
                  access("/var/run/secrets/kubernetes.io", F_OK) == 0 ? "true" : "false");
    (void)fprintf(out, "\"user\": %d, \"group\": %d, \"starts\": %u}\n", (int)getuid(), (int)getgid(),
                  runtime->starts);
}
