/* SPDX-License-Identifier: MIT
 *
 * When the dispatcher does what. Pure: the caller brings the time and what the last survey said.
 */
#ifndef OCC_WORKER_RHYTHM_H
#define OCC_WORKER_RHYTHM_H

#include "lib/store/survey.h"

#define RHYTHM_HEALTH_MS 5000   /* the health query: a survey that counts */
#define RHYTHM_SESSION_MS 10000 /* the check that the listening session is still ours */
#define RHYTHM_FOLLOW_MS 5      /* a second look after a notification that left rows */

/* Health and session are looked after in the polls' turns where those come often enough, so that an idle
 * worker sends one statement a poll interval; a poll interval longer than RHYTHM_HEALTH_MS does not delay
 * them: then they have turns of their own. */
struct rhythm {
    int64_t poll_ms;
    bool listening; /* there is a session to check */
    int64_t survey_due_ms;
    int64_t health_due_ms;
    int64_t session_due_ms;
    bool recovery_due;
};

/* A new connection: everything is due, recovery too. */
void rhythm_begin(struct rhythm *rhythm, int64_t poll_ms, int64_t now_ms);

/* What is due at `now_ms`. A check of the session takes the place of a survey where polls come often. */
bool rhythm_checks(const struct rhythm *rhythm, int64_t now_ms);
bool rhythm_surveys(const struct rhythm *rhythm, int64_t now_ms);

/* When the next of them is due. */
int64_t rhythm_due_ms(const struct rhythm *rhythm);

/* The session was checked. */
void rhythm_checked(struct rhythm *rhythm, int64_t now_ms);

/* What the survey said decides when the next is due: after a poll interval, or when the next row becomes
 * available or the next lease runs out, whichever comes first. */
void rhythm_surveyed(struct rhythm *rhythm, const struct survey *survey, int64_t now_ms);

/* Rows were left although somebody was just woken for a notification: look again soon. */
void rhythm_follow(struct rhythm *rhythm, int64_t now_ms);

#endif
