/* SPDX-License-Identifier: MIT
 *
 * The channel between the supervisor and one child: a SOCK_SEQPACKET pair, nonblocking at both ends, one
 * message a packet. The end of file is how either side learns that the other is gone.
 */
#ifndef OCC_WORKER_CHANNEL_H
#define OCC_WORKER_CHANNEL_H

#include "src/worker/message.h"

#define CHANNEL_DESCRIPTOR 3  /* the child's end in the child */
#define SNAPSHOT_DESCRIPTOR 4 /* the sealed configuration in the child */

/* A pair, both close-on-exec and nonblocking. False: errno tells why. */
bool channel_pair(int *ours, int *theirs) MUST_USE;

enum channel_result {
    CHANNEL_DONE,  /* sent, or a message was received */
    CHANNEL_LATER, /* no room now, or nothing has arrived */
    CHANNEL_END,   /* the other side is gone and nothing is left to read */
    CHANNEL_WRONG, /* received something that is no message of that sender: a protocol error */
    CHANNEL_LOST,  /* received nothing as the descriptor is no socket: somebody in this process has closed it
                    */
};

/* Sends one message; never blocks, never raises SIGPIPE. */
enum channel_result channel_send(int channel, const struct message *message) MUST_USE;

/* Receives one message from a process in the role `sender`; never blocks. A reset by the other side's end is
 * not the end: what it sent before is still delivered. */
enum channel_result channel_receive(int channel, enum role sender, struct message *message) MUST_USE;

/* For children: waits for room as long as the other side lives. False when it is gone. */
bool channel_put(int channel, const struct message *message) MUST_USE;

#endif
