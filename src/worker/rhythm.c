/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/rhythm.h"

void rhythm_begin(struct rhythm *rhythm, int64_t poll_ms, int64_t now_ms)
{
    *rhythm = (struct rhythm){
        .poll_ms = poll_ms,
        .survey_due_ms = now_ms,
        .health_due_ms = now_ms,
        .session_due_ms = now_ms + RHYTHM_SESSION_MS,
        .recovery_due = true,
    };
}

/* Polls are too rare to look after the rest. */
static bool polls_rarely(const struct rhythm *rhythm)
{
    return rhythm->poll_ms > RHYTHM_HEALTH_MS;
}

bool rhythm_checks(const struct rhythm *rhythm, int64_t now_ms)
{
    if (!rhythm->listening || rhythm->session_due_ms > now_ms)
        return false;
    return polls_rarely(rhythm) || (rhythm->survey_due_ms <= now_ms && rhythm->health_due_ms > now_ms);
}

bool rhythm_surveys(const struct rhythm *rhythm, int64_t now_ms)
{
    return rhythm->survey_due_ms <= now_ms || (polls_rarely(rhythm) && rhythm->health_due_ms <= now_ms);
}

int64_t rhythm_due_ms(const struct rhythm *rhythm)
{
    int64_t due_ms = rhythm->survey_due_ms;

    if (!polls_rarely(rhythm))
        return due_ms;
    if (rhythm->health_due_ms < due_ms)
        due_ms = rhythm->health_due_ms;
    if (rhythm->listening && rhythm->session_due_ms < due_ms)
        due_ms = rhythm->session_due_ms;
    return due_ms;
}

void rhythm_checked(struct rhythm *rhythm, int64_t now_ms)
{
    rhythm->session_due_ms = now_ms + RHYTHM_SESSION_MS;
    if (!polls_rarely(rhythm))
        rhythm->survey_due_ms = now_ms + rhythm->poll_ms;
}

static void sooner(struct rhythm *rhythm, int64_t in_ms, int64_t now_ms)
{
    /* One later, as the server compares in microseconds; and what is due already waits for the poll: nobody
     * is idle for it, or another one has it locked, and to look again at once would be a spin. */
    if (in_ms > 0 && now_ms + in_ms + 1 < rhythm->survey_due_ms)
        rhythm->survey_due_ms = now_ms + in_ms + 1;
}

void rhythm_surveyed(struct rhythm *rhythm, const struct survey *survey, int64_t now_ms)
{
    rhythm->survey_due_ms = now_ms + rhythm->poll_ms;
    sooner(rhythm, survey->next_due_ms, now_ms);
    sooner(rhythm, survey->next_expiry_ms, now_ms);
    if (survey->counted)
        rhythm->health_due_ms = now_ms + RHYTHM_HEALTH_MS;
    if (survey->next_expiry_ms == 0 || survey->exhausted)
        rhythm->recovery_due = true;
}

void rhythm_follow(struct rhythm *rhythm, int64_t now_ms)
{
    if (now_ms + RHYTHM_FOLLOW_MS < rhythm->survey_due_ms)
        rhythm->survey_due_ms = now_ms + RHYTHM_FOLLOW_MS;
}
