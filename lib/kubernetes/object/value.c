/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/object/value.h"

#include "lib/base/memory.h"

#include <sodium.h>

/* With padding, as the server writes it. */
#define VARIANT sodium_base64_VARIANT_ORIGINAL

void kubernetes_value_add(cJSON *data, const char *key, const struct secret *value)
{
    const size_t size = sodium_base64_ENCODED_LEN(secret_length(value), VARIANT);
    char *text = mem_array(NULL, char, size);

    json_add_text(data, key,
                  sodium_bin2base64(text, size, (const unsigned char *)secret_expose(value),
                                    secret_length(value), VARIANT));
    secret_wipe(text, size);
    talloc_free(text);
}

const struct secret *kubernetes_value_read(const void *context, const cJSON *object, const char *key)
{
    const char *text = json_text(json_object(object, "data"), key);
    const struct secret *value = NULL;
    unsigned char *bytes;
    size_t length, size;

    if (!text)
        return NULL;
    size = strlen(text) / 4 * 3 + 3;
    bytes = mem_array(NULL, unsigned char, size);
    if (sodium_base642bin(bytes, size, text, strlen(text), NULL, &length, NULL, VARIANT) == 0)
        value = secret_new(context, (const char *)bytes, length);
    secret_wipe(bytes, size);
    talloc_free(bytes);
    return value;
}

void kubernetes_values_wipe(const cJSON *object)
{
    const cJSON *value;

    cJSON_ArrayForEach(value, json_object(object, "data"))
    {
        if (cJSON_IsString(value)) {
            const size_t length = strlen(value->valuestring);

            secret_wipe(value->valuestring, length);
            memset(value->valuestring, 'A', length);
        }
    }
}
