/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/settings.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/files.h"
#include "lib/io/pg.h"

#define CODE "DATABASE_CONFIGURATION_INVALID"
#define URL_MOST 8192

bool settings_url_read(const struct options *options, const char *variable, const char *flag,
                       struct findings *findings, struct settings_url *url)
{
    struct fault fault;

    if (options_given(options, variable) && options_given(options, flag)) {
        findings_add(findings, FINDING_PROBLEM, options_source(options, flag), CODE,
                     "must not be given together with %s: one of them says which database to use", variable);
        return false;
    }
    if (!options_given(options, variable) && !options_given(options, flag)) {
        findings_add(findings, FINDING_PROBLEM, variable, CODE, "%s", SETTINGS_URL_MISSING);
        return false;
    }
    *url =
        (struct settings_url){.url = options_secret(options, variable), .file = options_text(options, flag)};
    url->source = options_source(options, url->file ? flag : variable);
    if (url->file)
        return true;
    if (!url->url) /* given, but wrong: it has its finding */
        return false;
    if (!pg_url_check(url->url, &fault)) {
        findings_add(findings, FINDING_PROBLEM, variable, CODE, "%s", fault.message);
        return false;
    }
    return true;
}

bool settings_url_load(const void *context, struct settings_url *url, struct fault *fault)
{
    struct secret *content, *text;
    struct fault form;
    size_t length;

    if (!url->file)
        return true;
    if (!file_read(context, url->source, CODE, url->file, FILE_PRIVATE, URL_MOST, &content, fault))
        return false;
    length = secret_length(content);
    while (length && strchr(" \t\r\n", secret_expose(content)[length - 1]))
        length--;
    text = secret_new(context, secret_expose(content), length);
    talloc_free(content);
    if (strlen(secret_expose(text)) != length) {
        talloc_free(text);
        return fault_set(fault, FAULT_CONFIGURATION, CODE, "%s: %s (%s holds a zero byte)", url->source,
                         SETTINGS_URL_MISSING, url->file);
    }
    if (!pg_url_check(text, &form)) {
        talloc_free(text);
        return fault_set(fault, FAULT_CONFIGURATION, CODE, "%s: %s: %s", url->source, url->file,
                         form.message);
    }
    url->url = text;
    return true;
}
