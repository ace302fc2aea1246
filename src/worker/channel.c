/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

bool channel_pair(int *ours, int *theirs)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return false;
    *ours = pair[0];
    *theirs = pair[1];
    return true;
}

enum channel_result channel_send(int channel, const struct message *message)
{
    ssize_t sent;

    do {
        sent = send(channel, message, message->size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)message->size)
        return CHANNEL_DONE;
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) ? CHANNEL_LATER : CHANNEL_END;
}

enum channel_result channel_receive(int channel, enum role sender, struct message *message)
{
    struct iovec place = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr head = {.msg_iov = &place, .msg_iovlen = 1};
    bool was_reset = false;
    ssize_t length;

    for (;;) {
        head.msg_flags = 0;
        length = recvmsg(channel, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (length >= 0)
            break;
        if (errno == EINTR)
            continue;
        /* The other side closed with messages of ours unread. The error is reported once, and its own
         * messages follow. */
        if (errno == ECONNRESET && !was_reset) {
            was_reset = true;
            continue;
        }
        if (errno == EBADF || errno == ENOTSOCK)
            return CHANNEL_LOST;
        return errno == EAGAIN ? CHANNEL_LATER : CHANNEL_END;
    }
    if (length == 0)
        return CHANNEL_END;
    if ((head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || !message_accept(message, (size_t)length, sender))
        return CHANNEL_WRONG;
    return CHANNEL_DONE;
}

bool channel_put(int channel, const struct message *message)
{
    struct pollfd room = {.fd = channel, .events = POLLOUT};
    enum channel_result result;

    while ((result = channel_send(channel, message)) == CHANNEL_LATER) {
        /* An end of the supervisor shows as POLLHUP or POLLERR here, and as CHANNEL_END in the next send. */
        if (poll(&room, 1, -1) < 0 && errno != EINTR)
            return false;
    }
    return result == CHANNEL_DONE;
}
