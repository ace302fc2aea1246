/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/key_file.h"

#include "lib/admit/credential.h"
#include "lib/base/identifier.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/files.h"
#include "lib/io/json.h"

static bool invalid(struct fault *fault, const char *setting, const char *path, const char *what)
{
    return fault_set(fault, FAULT_DENIED, "SERVICE_KEY_FILE_INVALID", "%s: %s is not a service key file: %s.",
                     setting, path, what);
}

static bool take(const void *context, const char *setting, const char *path, const char *text, size_t length,
                 struct key_file *file, struct fault *fault)
{
    const cJSON *document = json_read(context, text, length);
    const cJSON *data = json_object(document, "data");
    const cJSON *meta = json_object(document, "meta");
    const char *key = json_text(data, "key");

    if (!document)
        return invalid(fault, setting, path, "it is not JSON");
    if (!data || !meta)
        return invalid(fault, setting, path, "it has no \"data\" and \"meta\"");
    if (!key || !credential_is_service_key(key, strlen(key)))
        return invalid(fault, setting, path, "it holds no service key");
    file->id = json_text(data, "id");
    file->service_principal_id = json_text(data, "servicePrincipalId");
    file->name = json_text(data, "name");
    file->expires_at = json_text(data, "expiresAt");
    file->installation_id = json_text(meta, "installationId");
    if (text_is_empty(file->id) || text_is_empty(file->service_principal_id))
        return invalid(fault, setting, path, "it does not name the key and its service principal");
    if (!file->installation_id || !identifier_is(file->installation_id, "ins_"))
        return invalid(fault, setting, path, "it does not name an Installation");
    file->key = secret_new(file, key, strlen(key));
    /* The document is ours alone; its copy must not outlive this in freed memory. */
    secret_wipe((char *)(uintptr_t)key, strlen(key));
    return true;
}

bool key_file_read(const void *context, const char *setting, const char *path, struct key_file **file,
                   struct fault *fault)
{
    static const char code[] = "SERVICE_KEY_FILE_UNREADABLE";
    struct key_file *made = mem_new(context, struct key_file);
    struct secret *content;

    if (!file_read(made, setting, code, path, FILE_PRIVATE, KEY_FILE_LIMIT, &content, fault)) {
        /* Without the file nobody is authenticated, which is a refusal and not a wrong setting. */
        if (fault_is(fault, code))
            fault->class = FAULT_DENIED;
        talloc_free(made);
        return false;
    }
    if (!take(made, setting, path, secret_expose(content), secret_length(content), made, fault)) {
        talloc_free(made);
        return false;
    }
    talloc_free(content);
    *file = made;
    return true;
}

/* A JSON string, quotes included. */
static const char *quoted(const void *context, const char *text)
{
    cJSON *array = json_new_array(context);
    char *written;
    size_t length;

    json_append_text(array, text);
    written = mem_text(context, json_write(context, array));
    length = strlen(written);
    written[length - 1] = '\0';
    return written + 1;
}

bool key_file_write(const char *setting, const char *path, const struct key_file *file, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    char *text;
    bool done;

    /* The key goes in by formatting, so that this is the only copy and can be wiped: cJSON's would stay in
     * freed memory. */
    text = mem_format(
        scratch,
        "{\"data\":{\"id\":%s,\"servicePrincipalId\":%s,\"name\":%s,\"expiresAt\":%s,\"key\":\"%s\"},"
        "\"meta\":{\"installationId\":%s}}\n",
        quoted(scratch, file->id), quoted(scratch, file->service_principal_id), quoted(scratch, file->name),
        quoted(scratch, file->expires_at), secret_expose(file->key), quoted(scratch, file->installation_id));
    done = file_create_private(setting, "OUTPUT_FILE_REFUSED", path, text, strlen(text), fault);
    secret_wipe(text, strlen(text));
    talloc_free(scratch);
    return done;
}
