/* SPDX-License-Identifier: MIT
 *
 * The three standard descriptors. A process that is started without one of them would get its number for the
 * next thing that it opens, and then write messages into a database's connection or another process's
 * channel.
 */
#ifndef OCC_BASE_STANDARD_H
#define OCC_BASE_STANDARD_H

/* Opens /dev/null in the place of each of stdin, stdout and stderr that is closed. The first thing that a
 * program does, before it opens anything; ends the process (status 70) when it cannot. */
void standard_open(void);

#endif
