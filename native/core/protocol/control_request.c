#define _GNU_SOURCE
#include "core/protocol/control_request.h"

#include "core/protocol/join_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_S 5

// Beside the socket for agents (src/sonde/record/targets/session_registry.py).
static bool address_of(struct sockaddr_un *address)
{
    const char *agents = sonde_session_socket(), *end = strrchr(agents, '/');
    int folder = end ? (int)(end + 1 - agents) : 0;
    int n = snprintf(address->sun_path, sizeof address->sun_path, "%.*scontrol", folder, agents);
    address->sun_family = AF_UNIX;
    return folder && n < (int)sizeof address->sun_path;
}

static bool send_line(int fd, const char *command)
{
    size_t length = strlen(command);
    return send(fd, command, length, MSG_NOSIGNAL) == (ssize_t)length &&
           send(fd, "\n", 1, MSG_NOSIGNAL) == 1;
}

static size_t receive_line(int fd, char *answer, size_t size)
{
    size_t has = 0;
    while (has < size) {
        ssize_t n = recv(fd, answer + has, size - has, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        char *end = memchr(answer + has, '\n', (size_t)n);
        if (end) {
            *end = 0;
            return (size_t)(end - answer);
        }
        has += (size_t)n;
    }
    return 0;
}

size_t sonde_control_ask(const char *command, char *answer, size_t size)
{
    int saved = errno;
    size_t length = 0;
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    int fd = sonde_agent_active() && address_of(&address)
                 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)
                 : -1;
    if (fd >= 0) {
        struct timeval patience = {ANSWER_S, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && send_line(fd, command))
            length = receive_line(fd, answer, size);
        close(fd);
    }
    errno = saved;
    return length;
}
