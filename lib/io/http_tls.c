/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/http_private.h"

#include "lib/base/text.h"

static int material_free(struct http_material *material)
{
    curl_slist_free_all(material->connect_to);
    return 0;
}

static struct secret *copied(const void *context, const struct secret *secret)
{
    return secret ? secret_new(context, secret_expose(secret), secret_length(secret)) : NULL;
}

/* curl verifies the name that stands in the URL, and sends it as the name that it asks for (SNI). So a server
 * that is to be known by another name than its address stands in the URL by that name, and the address is
 * told beside it. */
static void name_server(struct http_material *material, const char *base_url, const char *server_name)
{
    const char *authority = strstr(base_url, "://") + 3;
    size_t length = strcspn(authority, "/");
    char *host = mem_text_part(material, authority, length);
    char *end_of_address = strrchr(host, ']');
    char *colon = strrchr(end_of_address ? end_of_address : host, ':');
    const char *port = colon ? colon + 1 : "443";
    bool is_ipv6 = strchr(server_name, ':');

    material->server_name = mem_text(material, server_name);
    material->host_header = mem_text(material, host);
    material->url = mem_format(material, "https://%s%s%s:%s%s", is_ipv6 ? "[" : "", server_name,
                               is_ipv6 ? "]" : "", port, authority + length);
    material->connect_to =
        curl_slist_append(NULL, mem_format(material, "::%s%s%s", host, colon ? "" : ":", colon ? "" : port));
    if (!material->connect_to)
        mem_exhausted();
}

struct http_material *http_material_new(const void *context, const char *base_url, const struct http_tls *tls)
{
    struct http_material *material = mem_new(context, struct http_material);

    talloc_set_destructor(material, material_free);
    material->ca = mem_text(material, tls->ca);
    material->certificate = copied(material, tls->certificate);
    material->key = copied(material, tls->key);
    if (tls->server_name)
        name_server(material, base_url, tls->server_name);
    return material;
}

static bool same(const struct secret *one, const struct secret *other)
{
    if (!one || !other)
        return one == other;
    return secret_length(one) == secret_length(other) &&
           memcmp(secret_expose(one), secret_expose(other), secret_length(one)) == 0;
}

bool http_material_is(const struct http_material *material, const struct http_tls *tls)
{
    return text_equal(material->ca, tls->ca) && same(material->certificate, tls->certificate) &&
           same(material->key, tls->key) &&
           (material->server_name ? text_equal(material->server_name, tls->server_name) : !tls->server_name);
}

static struct curl_blob blob_of(const char *bytes, size_t length)
{
    return (struct curl_blob){.data = (void *)(uintptr_t)bytes, .len = length, .flags = CURL_BLOB_NOCOPY};
}

void http_material_apply(const struct http_material *material, CURL *easy)
{
    struct curl_blob ca = blob_of(material->ca, strlen(material->ca));
    struct curl_blob certificate;
    struct curl_blob key;

    HTTP_SET(easy, CURLOPT_CAINFO_BLOB, &ca);
    if (material->certificate && material->key) {
        certificate = blob_of(secret_expose(material->certificate), secret_length(material->certificate));
        key = blob_of(secret_expose(material->key), secret_length(material->key));
        HTTP_SET(easy, CURLOPT_SSLCERT_BLOB, &certificate);
        HTTP_SET(easy, CURLOPT_SSLKEY_BLOB, &key);
    }
    if (material->connect_to)
        HTTP_SET(easy, CURLOPT_CONNECT_TO, material->connect_to);
}
