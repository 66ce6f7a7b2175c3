/* Requests and their answers, one after the other: how long each took, and the longest.
 *
 * The client says `echo bytes=…`; then every so many bytes come back as they were sent. */
#include "pattern.h"
#include "work.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { LONGEST = 65536 };

static size_t request_bytes(const char *words)
{
    double bytes = option(words, "bytes", 64);
    return bytes < 1 ? 1 : bytes > LONGEST ? LONGEST : (size_t)bytes;
}

void echo_serve(int fd, const char *words)
{
    size_t bytes = request_bytes(words);
    uint8_t data[LONGEST];
    while (!receive_all(fd, data, bytes) && !send_all(fd, data, bytes))
        ;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Receives all of it; -1 with errno, which is ECANCELED if the client was ended meanwhile. */
static int await(int fd, uint8_t *data, size_t length, double until)
{
    for (size_t got = 0; got < length;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (stopping || (until > 0 && now() >= until)) {
            errno = ECANCELED;
            return -1;
        }
        if (poll(&wait, 1, 20) <= 0)
            continue;
        ssize_t n = recv(fd, data + got, length - got, 0);
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            return -1;
        got += n;
    }
    return 0;
}

int echo_main(const char *host, int port, const char *words, const char *series)
{
    size_t bytes = request_bytes(words);
    double interval = option(words, "interval", 0.02), seconds = option(words, "seconds", 0), longest = 0, longest_at = 0;
    uint64_t seed = wall() * 1e6, wrong = 0, count = 0, room = 1024;
    double *times = malloc(room * sizeof *times);
    uint8_t request[LONGEST], answer[LONGEST];
    char line[LINE];
    int subflows, error = 0, fd = dial(host, port, option(words, "patience", 10));
    FILE *record = series ? fopen(series, "w") : NULL;
    if (fd < 0)
        die("%s port %d: %s", host, port, strerror(errno));
    if (series && !record)
        die("%s: %s", series, strerror(errno));
    if (send_all(fd, line, snprintf(line, sizeof line, "echo bytes=%zu\n", bytes)))
        die("%s port %d: %s", host, port, strerror(errno));
    double began = wall(), start = now(), until = seconds > 0 ? start + seconds : 0;
    if (record)
        fprintf(record, "# requests since %.6f (Unix time)\nseconds,took\n", began);
    while (!stopping && (until == 0 || now() < until)) {
        double t = now();
        pattern_write(request, bytes, seed, count * bytes);
        error = send_all(fd, request, bytes) || await(fd, answer, bytes, until) ? errno : 0;
        double took = now() - t;
        if (took > longest)
            longest = took, longest_at = t - start;
        if (error)
            break;
        wrong += memcmp(request, answer, bytes) != 0;
        if (count == room && !(times = realloc(times, (room *= 2) * sizeof *times)))
            die("no memory for %" PRIu64 " times", room);
        times[count++] = took;
        if (record) {
            fprintf(record, "%.4f,%.6f\n", t - start, took);
            fflush(record);
        }
        pace(1 / interval, &t, &(uint64_t){1});
    }
    if (error == ECANCELED)
        error = 0;
    int mptcp = is_mptcp(fd, &subflows);
    if (record)
        fclose(record);
    qsort(times, count, sizeof *times, by_size);
    printf("{\"alive\":%s,\"error\":%s%s%s,\"mptcp\":%s,\"subflows\":%d,\"began\":%.6f,\"seconds\":%.3f,\"requests\":%" PRIu64
           ",\"wrong\":%" PRIu64 ",\"median\":%.6f,\"p99\":%.6f,\"longest\":%.6f,\"longest_at\":%.3f}\n",
           error ? "false" : "true", error ? "\"" : "", error ? strerror(error) : "null", error ? "\"" : "",
           mptcp ? "true" : "false", subflows, began, now() - start, count, wrong, count ? times[count / 2] : 0,
           count ? times[count * 99 / 100] : 0, longest, longest_at);
    free(times);
    return error ? 1 : 0;
}
