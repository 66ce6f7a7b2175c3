/* MPTCP sockets. */
#include "work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/mptcp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

static int stream_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
    return fd >= 0 ? fd : socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
}

int dial(const char *host, int port, double seconds)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int is4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
    if (!is4 && inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
        die("%s is no address", host);
    int fd = stream_socket(is4 ? AF_INET : AF_INET6), one = 1, error = 0;
    socklen_t length = sizeof error;
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, is4 ? (void *)&v4 : (void *)&v6, is4 ? sizeof v4 : sizeof v6) && errno != EINPROGRESS)
        goto failed;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    if (poll(&wait, 1, seconds * 1000) != 1) {
        errno = ETIMEDOUT;
        goto failed;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) || (errno = error))
        goto failed;
    fcntl(fd, F_SETFL, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
failed:
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

int answer_on(int port)
{
    int fd = stream_socket(AF_INET6), one = 1, zero = 0;
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (fd < 0)
        die("no socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(fd, (void *)&address, sizeof address) || listen(fd, 64))
        die("port %d: %s", port, strerror(errno));
    return fd;
}

int is_mptcp(int fd, int *subflows)
{
    struct mptcp_info info = {0};
    struct mptcp_subflow_data data = {.size_subflow_data = sizeof data, .size_user = 0};
    socklen_t length = sizeof info;
    *subflows = 1;
    if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &length) || info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK)
        return 0;
    length = sizeof data;
    if (!getsockopt(fd, SOL_MPTCP, MPTCP_SUBFLOW_ADDRS, &data, &length))
        *subflows = data.num_subflows;
    return 1;
}

int send_all(int fd, const void *data, size_t length)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(fd, (const char *)data + sent, length - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        sent += n;
    }
    return 0;
}

int receive_all(int fd, void *data, size_t length)
{
    for (size_t got = 0; got < length;) {
        ssize_t n = recv(fd, (char *)data + got, length - got, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            return -1;
        got += n;
    }
    return 0;
}

int receive_line(int fd, char *line, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++) {
        if (receive_all(fd, line + i, 1))
            return -1;
        if (line[i] == '\n') {
            line[i] = 0;
            return 0;
        }
    }
    errno = EMSGSIZE;
    return -1;
}
