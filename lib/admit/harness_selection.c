/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/harness_selection.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

#include <strings.h>

#define POINTER_SHOWN 129 /* bytes of a pointer in a message, which has room for two */
#define ID_SHOWN 65
/* Entries that are looked at for all models together. Each model is looked for in each list, and whoever
 * deploys holds locks meanwhile: far beyond every document that people write, and well below a second. */
#define LOOKS_MOST 20000000

/* What one place in the document says. */
struct choice {
    const char *id;      /* as it stands there; HARNESS_DEFAULT where nothing is chosen */
    const char *pointer; /* of the id, or of the model for which none is chosen; NULL: there is no choice */
    bool chosen;
};

struct search {
    const void *memory;
    const cJSON *providers; /* models.providers; NULL: none */
    const cJSON *defaults;  /* agents.defaults; NULL: none */
    struct choice found;    /* the first that was found */
    bool vague;             /* some model's provider cannot be told */
    bool named;             /* some model is named */
    uint64_t looks;
};

/* The maps of models in which an agent looks, nearest first. */
struct maps {
    const cJSON *map[2];
    const char *pointer[2];
};

/* Appends a member's name to a pointer (RFC 6901). */
static char *pointer_to(const void *context, const char *pointer, const char *name)
{
    size_t length = strlen(pointer);
    char *made = mem_array(context, char, length + 2 * strlen(name) + 2);
    char *end = made + length;

    memcpy(made, pointer, length);
    *end++ = '/';
    for (; *name; name++) {
        if (*name == '~' || *name == '/')
            *end++ = '~';
        *end++ = (char)(*name == '~' ? '0' : *name == '/' ? '1' : *name);
    }
    return made;
}

static void shorten(char *shown, size_t size, const char *text)
{
    if (!text_copy(shown, size, text))
        memcpy(shown + size - 4, "...", 4);
    text_make_line(shown);
}

/* ---- What an entry says */

static bool chooses_nothing(const char *id)
{
    return text_is_empty(id) || text_equal(id, "auto") || text_equal(id, "default");
}

/* Reads `agentRuntime` of an entry. An id that says "auto" ends the search as well: nothing further away
 * counts then. */
static bool read_entry(const void *context, const cJSON *entry, const char *pointer, struct choice *choice,
                       struct fault *fault)
{
    const cJSON *runtime = json_member(entry, "agentRuntime");
    const cJSON *id = json_member(runtime, "id");
    char shown[POINTER_SHOWN];
    char *at;

    *choice = (struct choice){0};
    if (!runtime || (cJSON_IsObject(runtime) && !id))
        return true;
    at = pointer_to(context, pointer, "agentRuntime");
    if (id)
        at = pointer_to(context, at, "id");
    if (!cJSON_IsString(id)) {
        shorten(shown, sizeof shown, at);
        return fault_set(fault, FAULT_CONFLICT, "HARNESS_UNSUPPORTED",
                         "The document's %s must be %s that names the Harness.", shown,
                         id ? "a text" : "an object with an \"id\"");
    }
    if (text_is_empty(id->valuestring))
        return true;
    choice->chosen = !chooses_nothing(id->valuestring);
    choice->id = choice->chosen ? id->valuestring : HARNESS_DEFAULT;
    choice->pointer = at;
    return true;
}

/* ---- Agreement */

static const char *words_of(const struct choice *choice)
{
    return choice->chosen ? "" : " (by default)";
}

static bool weigh(struct search *search, const struct choice *choice, struct fault *fault)
{
    char one[POINTER_SHOWN], other[POINTER_SHOWN], one_id[ID_SHOWN], other_id[ID_SHOWN];

    if (!choice->pointer)
        return true;
    if (!search->found.pointer) {
        search->found = *choice;
        return true;
    }
    if (text_equal(search->found.id, choice->id)) {
        if (choice->chosen && !search->found.chosen)
            search->found = *choice;
        return true;
    }
    shorten(one, sizeof one, search->found.pointer);
    shorten(other, sizeof other, choice->pointer);
    shorten(one_id, sizeof one_id, search->found.id);
    shorten(other_id, sizeof other_id, choice->id);
    return fault_set(
        fault, FAULT_CONFLICT, "HARNESS_CONFLICT",
        "The document asks for two Harnesses: %s is \"%s\"%s, and %s is \"%s\"%s. A revision has "
        "one.",
        one, one_id, words_of(&search->found), other, other_id, words_of(choice));
}

/* ---- One model */

/* Whether the name of an entry means this model: providers are named in any case. `model` may be an asterisk.
 */
static bool is_model(const char *name, const char *provider, size_t provider_length, const char *model)
{
    return strncasecmp(name, provider, provider_length) == 0 && name[provider_length] == '/' &&
           text_equal(name + provider_length + 1, model);
}

static bool look_in_maps(struct search *search, const struct maps *maps, const char *provider, size_t length,
                         const char *model, struct choice *choice, struct fault *fault)
{
    size_t index;

    for (index = 0; index < COUNT_OF(maps->map) && !choice->pointer; index++) {
        const cJSON *entry;

        cJSON_ArrayForEach(entry, maps->map[index])
        {
            search->looks++;
            if (!is_model(entry->string, provider, length, model))
                continue;
            if (!read_entry(search->memory, entry,
                            pointer_to(search->memory, maps->pointer[index], entry->string), choice, fault))
                return false;
            if (choice->pointer)
                break;
        }
    }
    return true;
}

static const cJSON *find_provider(struct search *search, const char *name, size_t length)
{
    const cJSON *provider;

    cJSON_ArrayForEach(provider, search->providers)
    {
        search->looks++;
        if (strlen(provider->string) == length && strncasecmp(provider->string, name, length) == 0)
            return provider;
    }
    return NULL;
}

static char *provider_pointer(const struct search *search, const cJSON *provider)
{
    return pointer_to(search->memory, "/models/providers", provider->string);
}

static char *model_pointer(const struct search *search, const cJSON *provider, int place)
{
    return mem_format(search->memory, "%s/models/%d", provider_pointer(search, provider), place);
}

static bool look_in_provider_models(struct search *search, const cJSON *provider, const char *name,
                                    size_t length, const char *model, struct choice *choice,
                                    struct fault *fault)
{
    const cJSON *entry;
    int place = 0;

    cJSON_ArrayForEach(entry, json_array(provider, "models"))
    {
        const char *id = json_text(entry, "id");

        search->looks++;
        if (id && (text_equal(id, model) || is_model(id, name, length, model))) {
            if (!read_entry(search->memory, entry, model_pointer(search, provider, place), choice, fault))
                return false;
            if (choice->pointer)
                break;
        }
        place++;
    }
    return true;
}

/* What counts for "provider/model", nearest first. */
static bool look_for(struct search *search, const struct maps *maps, const char *reference,
                     struct choice *choice, struct fault *fault)
{
    size_t length = strcspn(reference, "/");
    const char *model = reference + length + 1;
    const cJSON *provider = find_provider(search, reference, length);

    *choice = (struct choice){0};
    if (!look_in_maps(search, maps, reference, length, model, choice, fault) ||
        (!choice->pointer && provider &&
         !look_in_provider_models(search, provider, reference, length, model, choice, fault)) ||
        (!choice->pointer && !look_in_maps(search, maps, reference, length, "*", choice, fault)))
        return false;
    if (choice->pointer || !provider)
        return true;
    return read_entry(search->memory, provider, provider_pointer(search, provider), choice, fault);
}

/* "fast" where an entry has "alias": "fast". */
static const char *of_alias(struct search *search, const struct maps *maps, const char *reference)
{
    size_t index;

    for (index = 0; index < COUNT_OF(maps->map); index++) {
        const cJSON *entry;

        cJSON_ArrayForEach(entry, maps->map[index])
        {
            const char *alias = json_text(entry, "alias");

            search->looks++;
            if (alias && strcasecmp(alias, reference) == 0 && strchr(entry->string, '/'))
                return entry->string;
        }
    }
    return NULL;
}

/* A model may be followed by the profile that authenticates for it: "provider/model@profile". */
static const char *without_profile(const struct search *search, const char *reference)
{
    const char *at = strrchr(reference, '@');

    if (!at || at == reference || strchr(at, '/'))
        return NULL;
    return mem_text_part(search->memory, reference, (size_t)(at - reference));
}

static bool weigh_model(struct search *search, const struct maps *maps, const cJSON *named,
                        const char *pointer, struct fault *fault)
{
    const char *reference, *bare;
    struct choice choice;

    if (!cJSON_IsString(named) || text_is_empty(named->valuestring))
        return true;
    if (search->looks > LOOKS_MOST)
        return fault_set(
            fault, FAULT_CONFLICT, "HARNESS_SEARCH_TOO_LARGE",
            "The document names so many models, and has so many entries for them, that its Harness "
            "is not looked for: make either fewer.");
    search->named = true;
    reference = named->valuestring;
    bare = without_profile(search, reference);
    if (!strchr(reference, '/')) {
        const char *meant = of_alias(search, maps, reference);

        if (!meant && bare)
            meant = of_alias(search, maps, bare);
        if (!meant) {
            search->vague = true;
            return true;
        }
        reference = meant;
        bare = NULL;
    }
    if (!look_for(search, maps, reference, &choice, fault) ||
        (!choice.pointer && bare && !look_for(search, maps, bare, &choice, fault)))
        return false;
    if (!choice.pointer)
        choice = (struct choice){.id = HARNESS_DEFAULT, .pointer = pointer};
    return weigh(search, &choice, fault);
}

/* ---- All models of one agent */

static bool weigh_models(struct search *search, const struct maps *maps, const cJSON *model,
                         const char *pointer, struct fault *fault)
{
    const cJSON *fallback;
    int place = 0;

    if (!cJSON_IsObject(model))
        return weigh_model(search, maps, model, pointer, fault);
    if (!weigh_model(search, maps, json_member(model, "primary"),
                     pointer_to(search->memory, pointer, "primary"), fault))
        return false;
    cJSON_ArrayForEach(fallback, json_array(model, "fallbacks"))
    {
        if (!weigh_model(search, maps, fallback,
                         mem_format(search->memory, "%s/fallbacks/%d", pointer, place), fault))
            return false;
        place++;
    }
    return true;
}

static bool weigh_agents(struct search *search, const cJSON *list, struct fault *fault)
{
    struct maps maps = {
        .map = {NULL, json_object(search->defaults, "models")},
        .pointer = {NULL, "/agents/defaults/models"},
    };
    const cJSON *agent;
    int place = 0;

    if (!weigh_models(search, &maps, json_member(search->defaults, "model"), "/agents/defaults/model", fault))
        return false;
    cJSON_ArrayForEach(agent, list)
    {
        const cJSON *model = json_member(agent, "model");
        const char *pointer = mem_format(search->memory, "/agents/list/%d", place++);

        maps.map[0] = json_object(agent, "models");
        maps.pointer[0] = pointer_to(search->memory, pointer, "models");
        if (!weigh_models(search, &maps, model ? model : json_member(search->defaults, "model"),
                          model ? pointer_to(search->memory, pointer, "model") : "/agents/defaults/model",
                          fault))
            return false;
    }
    return true;
}

/* ---- Everything that the document says, where no model tells what counts */

static bool weigh_entry(struct search *search, const cJSON *entry, const char *pointer, struct fault *fault)
{
    struct choice choice;

    return read_entry(search->memory, entry, pointer, &choice, fault) &&
           (!choice.chosen || weigh(search, &choice, fault));
}

static bool weigh_map(struct search *search, const cJSON *owner, const char *pointer, struct fault *fault)
{
    const char *models = pointer_to(search->memory, pointer, "models");
    const cJSON *entry;

    cJSON_ArrayForEach(entry, json_object(owner, "models"))
    {
        if (!weigh_entry(search, entry, pointer_to(search->memory, models, entry->string), fault))
            return false;
    }
    return true;
}

static bool weigh_everything(struct search *search, const cJSON *list, struct fault *fault)
{
    const cJSON *item, *entry;
    int place = 0;

    if (!weigh_map(search, search->defaults, "/agents/defaults", fault))
        return false;
    cJSON_ArrayForEach(item, list)
    {
        if (!weigh_map(search, item, mem_format(search->memory, "/agents/list/%d", place++), fault))
            return false;
    }
    cJSON_ArrayForEach(item, search->providers)
    {
        if (!weigh_entry(search, item, provider_pointer(search, item), fault))
            return false;
        place = 0;
        cJSON_ArrayForEach(entry, json_array(item, "models"))
        {
            if (!weigh_entry(search, entry, model_pointer(search, item, place++), fault))
                return false;
        }
    }
    return true;
}

/* ---- What can be run */

static char *supported(const void *context)
{
    char *list = mem_text(context, "");
    size_t index;

    for (index = 0; index < harness_count; index++)
        list =
            mem_append(list, "%s%s %s%s", index ? ", " : "", harness_list[index].mode, harness_list[index].id,
                       harness_list[index].sandboxed ? " with a full Sandbox Driver" : "");
    return list;
}

static bool is_known(const char *id)
{
    size_t index;

    for (index = 0; index < harness_count; index++) {
        if (text_equal(harness_list[index].id, id))
            return true;
    }
    return false;
}

static bool refuse(const struct search *search, const char *what, struct fault *fault)
{
    char id[ID_SHOWN], at[POINTER_SHOWN];

    shorten(id, sizeof id, search->found.id);
    shorten(at, sizeof at, search->found.pointer ? search->found.pointer : "");
    return fault_set(
        fault, FAULT_CONFLICT, "HARNESS_UNSUPPORTED", "The Harness \"%s\" (%s%s%s) %s; supported are: %s.",
        id, search->found.chosen ? "from " : "by default",
        search->found.chosen || !search->found.pointer ? "" : " for ", at, what, supported(search->memory));
}

static bool check_sandbox(const struct search *search, const struct sandbox_driver *sandbox,
                          struct fault *fault)
{
    if (!sandbox)
        return refuse(search, "runs dedicated only in a sandbox, and no Sandbox Driver is selected", fault);
    if (!sandbox->operations->provision_harness || (sandbox->facets & SANDBOX_ALL) != SANDBOX_ALL)
        return refuse(search,
                      mem_format(search->memory,
                                 "runs dedicated only in a full sandbox, and the Sandbox Driver %.64s %s",
                                 sandbox->id,
                                 sandbox->operations->provision_harness
                                     ? "lacks one of networking, filesystem and process"
                                     : "provisions no Harness"),
                      fault);
    return true;
}

static bool choose(struct search *search, const cJSON *document, struct fault *fault)
{
    const cJSON *list = json_array(json_object(document, "agents"), "list");

    search->providers = json_object(json_object(document, "models"), "providers");
    search->defaults = json_object(json_object(document, "agents"), "defaults");
    if (!weigh_agents(search, list, fault) ||
        ((search->vague || !search->named) && !weigh_everything(search, list, fault)))
        return false;
    if (!search->found.pointer)
        search->found.id = HARNESS_DEFAULT;
    return true;
}

/* Numbers decide nothing here, may be longer than cJSON takes them, and so become 0. */
static const cJSON *read_document(const void *context, const char *document, size_t length)
{
    char *text = mem_text_part(context, document, length), *at;
    bool inside = false; /* a text */

    for (at = text; *at; at++) {
        if (inside && *at == '\\' && at[1]) {
            at++;
        } else if (*at == '"') {
            inside = !inside;
        } else if (!inside && (*at == '-' || (*at >= '0' && *at <= '9'))) {
            size_t run = strspn(at, "+-.0123456789eE");

            memset(at, ' ', run);
            *at = '0';
            at += run - 1;
        }
    }
    return json_read(context, text, length);
}

bool harness_select(const char *document, size_t length, const char *mode,
                    const struct sandbox_driver *sandbox, const struct harness **harness, struct fault *fault)
{
    void *memory = talloc_new(NULL);
    struct search search = {.memory = memory};
    const cJSON *read = read_document(memory, document, length);
    const struct harness *found = NULL;
    bool done;

    if (read)
        done = choose(&search, read, fault);
    else
        done = fault_set(fault, FAULT_CONFLICT, "CONFIGURATION_DOCUMENT_INVALID",
                         "The Configuration's document cannot be read as JSON.");
    if (done) {
        found = harness_find(search.found.id, mode);
        if (!found)
            done = refuse(&search,
                          is_known(search.found.id) ? mem_format(memory, "does not run %s", mode)
                                                    : "is not known",
                          fault);
        else if (found->sandboxed)
            done = check_sandbox(&search, sandbox, fault);
    }
    if (done)
        *harness = found;
    talloc_free(memory);
    return done;
}
