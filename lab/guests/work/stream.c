/* A stream of pattern in both directions of one connection, every byte checked by the side that gets it.
 *
 * The client says `stream seed=… down=… up=… flip_down=…`; then the bytes flow, at so many a second. When the client
 * has closed its direction, the server ends its own with TAIL bytes that are its verdict. */
#include "pattern.h"
#include "work.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { TAIL = 384, CHUNK = 65536 };
static const uint64_t UP = 0x75700000; /* the two directions have patterns of their own */
static const double SLOT = 0.01;

struct sender {
    int fd;
    uint64_t seed, sent;
    double rate, flip;
    int error; /* errno of the send that ended it before its time */
    atomic_int stop;
};

struct receiver {
    uint64_t seed, bytes, wrong, first_wrong;
    double began, last, gap, gap_at;
    int ends; /* no more gaps count */
    FILE *series;
    uint64_t slot, in_slot;
    double flushed;
};

static void *keep_sending(void *argument)
{
    struct sender *s = argument;
    uint8_t data[CHUNK];
    double start = now();
    uint64_t paced = 0;
    size_t chunk = s->rate <= 0 || s->rate > 200.0 * CHUNK ? CHUNK : s->rate < 200 * 64 ? 64 : (size_t)(s->rate / 200);
    while (!s->stop) {
        pattern_write(data, chunk, s->seed, s->sent);
        if (s->flip >= s->sent && s->flip < s->sent + chunk)
            data[(uint64_t)s->flip - s->sent] ^= 1;
        for (size_t done = 0; done < chunk && !s->stop;) {
            ssize_t n = send(s->fd, data + done, chunk - done, MSG_NOSIGNAL);
            if (n < 0 && errno != EAGAIN && errno != EINTR) {
                s->error = errno;
                return NULL;
            }
            if (n > 0)
                done += n, s->sent += n, paced += n;
        }
        pace(s->rate, &start, &paced);
    }
    return NULL;
}

static void end_slot(struct receiver *r)
{
    if (r->series && r->in_slot)
        fprintf(r->series, "%.2f,%" PRIu64 "\n", r->slot * SLOT, r->in_slot);
    r->in_slot = 0;
}

static void gap_until(struct receiver *r, double t)
{
    if (!r->ends && t - r->last > r->gap) {
        r->gap = t - r->last;
        r->gap_at = r->last - r->began;
    }
}

static void arrived(struct receiver *r, const uint8_t *data, size_t length)
{
    double t = now();
    gap_until(r, t);
    r->last = t;
    uint64_t slot = (t - r->began) / SLOT;
    if (slot != r->slot) {
        end_slot(r);
        r->slot = slot;
        if (r->series && t - r->flushed > 0.1) {
            fflush(r->series);
            r->flushed = t;
        }
    }
    r->in_slot += length;
    uint64_t first = 0, wrong = pattern_check(data, length, r->seed, r->bytes, &first);
    if (wrong && !r->wrong)
        r->first_wrong = first;
    r->wrong += wrong;
    r->bytes += length;
}

/* What both sides say of what they got and sent. */
static int told(const struct receiver *r, const struct sender *s, char *text, size_t size)
{
    char first[24] = "null", error[64] = "null";
    if (r->wrong)
        snprintf(first, sizeof first, "%" PRIu64, r->first_wrong);
    if (s->error)
        snprintf(error, sizeof error, "\"%s\"", strerror(s->error));
    return snprintf(text, size,
                    "\"received\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"first_wrong\":%s,\"gap\":%.4f,\"gap_at\":%.3f,\"sent\":%" PRIu64
                    ",\"send_error\":%s",
                    r->bytes, r->wrong, first, r->gap, r->gap_at, s->sent, error);
}

void stream_serve(int fd, const char *words)
{
    uint64_t seed = option(words, "seed", 0);
    struct sender s = {.fd = fd, .seed = seed, .rate = option(words, "down", 0), .flip = option(words, "flip_down", -1)};
    struct receiver r = {.seed = seed ^ UP, .began = now(), .last = now()};
    struct timeval patience = {.tv_usec = 200000};
    uint8_t *data = malloc(CHUNK);
    pthread_t thread;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int sends = s.rate != 0 && !pthread_create(&thread, NULL, keep_sending, &s);
    ssize_t n;
    while ((n = recv(fd, data, CHUNK, 0)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            arrived(&r, data, n);
    s.stop = 1;
    if (sends)
        pthread_join(thread, NULL);
    char tail[TAIL] = "";
    told(&r, &s, tail, sizeof tail);
    struct timeval forever = {0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
    if (n == 0 && !send_all(fd, tail, sizeof tail))
        shutdown(fd, SHUT_WR);
    free(data);
}

/* Receives until the end of the stream, which comes `drain` seconds after the stop at the latest. The last TAIL bytes
 * are held back in `tail`, since they may be the verdict. Returns 0 at the end, or errno. */
static int keep_receiving(int fd, struct sender *s, struct receiver *r, double seconds, double drain, char *tail)
{
    uint8_t *data = malloc(TAIL + CHUNK);
    size_t held = 0;
    double until = r->began + seconds;
    int closed = 0, error = 0;
    for (;;) {
        double t = now();
        if (!closed && (stopping || (seconds > 0 && t >= until))) {
            closed = s->stop = 1;
            until = t + drain;
            gap_until(r, t);
            r->ends = 1;
        }
        if (closed == 1 && s->fd < 0) { /* the sender has ended */
            shutdown(fd, SHUT_WR);
            closed = 2;
        }
        if (closed && t >= until) {
            error = ETIMEDOUT;
            break;
        }
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, 20) <= 0)
            continue;
        ssize_t n = recv(fd, data + held, CHUNK, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            error = errno;
        if (n == 0 && !closed)
            error = ECONNRESET;
        if (n <= 0)
            break;
        held += n;
        if (held > TAIL) {
            arrived(r, data, held - TAIL);
            memmove(data, data + held - TAIL, TAIL);
            held = TAIL;
        }
    }
    if (held == TAIL)
        memcpy(tail, data, TAIL);
    free(data);
    return error;
}

static void *send_to_the_end(void *argument)
{
    struct sender *s = argument;
    if (s->rate != 0)
        keep_sending(s);
    while (!s->stop)
        pace(100, &(double){now()}, &(uint64_t){1});
    s->fd = -1;
    return NULL;
}

int stream_main(const char *host, int port, const char *words, const char *series)
{
    uint64_t seed = (uint64_t)(wall() * 1e6) & 0xffffffffffff;
    struct sender s = {.seed = seed ^ UP, .rate = option(words, "up", 0), .flip = option(words, "flip_up", -1)};
    struct receiver r = {.seed = seed, .series = series ? fopen(series, "w") : NULL};
    r.ends = option(words, "down", 0) == 0;
    struct timeval patience = {.tv_usec = 200000};
    char line[LINE], tail[TAIL + 1] = "", text[512];
    int subflows, fd = dial(host, port, option(words, "patience", 10));
    if (fd < 0)
        die("%s port %d: %s", host, port, strerror(errno));
    if (series && !r.series)
        die("%s: %s", series, strerror(errno));
    int n = snprintf(line, sizeof line, "stream seed=%" PRIu64 " down=%.0f flip_down=%.0f\n", seed, option(words, "down", 0),
                     option(words, "flip_down", -1));
    s.fd = fd;
    if (send_all(fd, line, n))
        die("%s port %d: %s", host, port, strerror(errno));
    double began = wall();
    r.began = r.last = now();
    if (r.series) {
        fprintf(r.series, "# received bytes in slots of 10 ms since %.6f (Unix time)\nseconds,bytes\n", began);
        fflush(r.series);
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    pthread_t thread;
    pthread_create(&thread, NULL, send_to_the_end, &s);
    int error = keep_receiving(fd, &s, &r, option(words, "seconds", 0), option(words, "drain", 15), tail);
    int mptcp = is_mptcp(fd, &subflows);
    s.stop = 1;
    pthread_join(thread, NULL);
    if (r.series) {
        end_slot(&r);
        fclose(r.series);
    }
    told(&r, &s, text, sizeof text);
    int whole = !error && tail[0] == '"';
    printf("{\"alive\":%s,\"error\":%s%s%s,\"mptcp\":%s,\"subflows\":%d,\"began\":%.6f,\"seconds\":%.3f,%s,\"peer\":%s%s%s}\n",
           whole ? "true" : "false", error ? "\"" : "", error ? strerror(error) : "null", error ? "\"" : "",
           mptcp ? "true" : "false", subflows, began, now() - r.began, text, whole ? "{" : "", whole ? tail : "null",
           whole ? "}" : "");
    return whole ? 0 : 1;
}
