/* SPDX-License-Identifier: MIT
 *
 * A Driver's answer between the public interface and ours. Nothing in it is believed: texts are ended, made
 * one line of valid UTF-8, and bounded. For lib/package only.
 */
#ifndef OCC_PACKAGE_ANSWER_H
#define OCC_PACKAGE_ANSWER_H

#include "include/occ/driver.h"
#include "lib/driver/compute.h"

#define ANSWER_PROBLEM_SIZE 160

/* Upper case, digits and _, beginning with a letter, at most 64; NULL is none. */
bool answer_code_is_good(const char *code) MUST_USE;

/* Ends and cleans every text of an answer, and checks what there is with this result. False with `problem`
 * (as "a code that is none") where it breaks the interface. */
bool answer_check(enum occ_result result, struct occ_answer *answer,
                  char problem[ANSWER_PROBLEM_SIZE]) MUST_USE;

/* What a checked answer says was seen. */
void answer_observe(const struct occ_answer *answer, struct compute_observation *seen);

/* The fault of a checked answer whose result is not OCC_READY; returns false. */
bool answer_fault(enum occ_result result, const struct occ_answer *answer, struct fault *fault);

/* The other way: fills `answer` (NULL, or as large as its size says) from a fault, and gives its result. */
enum occ_result answer_of_fault(const struct fault *fault, struct occ_answer *answer);

#endif
