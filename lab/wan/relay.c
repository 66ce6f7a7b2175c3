/* wanrelay: a WAN between pairs of interfaces of one network namespace.
 *
 *   wanrelay [-f FILE] [LINK ...]      LINK is name,ifA,ifB,delay_us,jitter_us,loss_ppm,rate_kbit,limit_packets
 *
 * Every frame that arrives at ifA leaves at ifB and the other way round, after a one-way delay of delay_us plus or
 * minus a uniform jitter, unless the loss (parts per million) takes it or limit_packets are waiting already. rate_kbit
 * (0: unlimited) serialises frames as a line of that speed would. Order within a direction is always kept, also under
 * jitter (netem may reorder there). FILE holds one LINK a line; blank lines and lines that begin with # are skipped.
 * SIGTERM and SIGINT end it; statistics of each direction then go to standard output.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, FRAME_BYTES = 2048, SOCKET_BYTES = 8 << 20, LINE_BYTES = 256 };
static const int64_t SECOND = 1000000000;

struct packet {
    int64_t due; /* CLOCK_MONOTONIC, ns */
    uint32_t length;
    uint8_t *frame;
};

/* One direction of a link: a ring of packets ordered by the time at which they are due. */
struct direction {
    char name[2 * IF_NAMESIZE + 40];
    int in, out;
    int64_t delay, jitter; /* ns */
    uint64_t loss;         /* parts per million */
    int64_t rate;          /* bit/s, 0: unlimited */
    uint32_t limit, capacity, head, tail;
    struct packet *ring;
    int64_t line_free, last_due; /* when the line has sent what it has; the due time of the newest packet */
    uint64_t received, sent, lost, overflowed, oversized, failed;
    int64_t late_total, late_worst;
};

static struct direction *directions;
static size_t direction_count;
static uint8_t **spare; /* frames not in use */
static size_t spare_count, spare_capacity;
static volatile sig_atomic_t stopping;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("wanrelay: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void *checked(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* xorshift64*: good enough for losses, and a call costs a nanosecond. */
static uint64_t random_below(uint64_t bound)
{
    static uint64_t state;
    if (!state)
        state = (uint64_t)now() | 1;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 0x2545F4914F6CDD1DULL) >> 11) % bound;
}

static uint8_t *take_frame(void)
{
    return spare_count ? spare[--spare_count] : checked(malloc(FRAME_BYTES));
}

static void give_frame(uint8_t *frame)
{
    if (spare_count == spare_capacity) {
        spare_capacity = spare_capacity ? 2 * spare_capacity : 1024;
        spare = checked(realloc(spare, spare_capacity * sizeof *spare));
    }
    spare[spare_count++] = frame;
}

static struct packet *slot(const struct direction *d, uint32_t position)
{
    return &d->ring[position & (d->capacity - 1)];
}

static int open_interface(const char *name)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int one = 1, bytes = SOCKET_BYTES;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("packet socket: %s", strerror(errno));
    address.sll_ifindex = (int)if_nametoindex(name);
    if (!address.sll_ifindex)
        die("interface %s: %s", name, strerror(errno));
    if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one))
        die("PACKET_IGNORE_OUTGOING: %s", strerror(errno));
    /* Wishes, not needs: larger buffers survive bursts, and no queueing discipline is passed on the way out. */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address))
        die("interface %s: %s", name, strerror(errno));
    return fd;
}

static struct direction *add_direction(const char *link, const char *from, const char *to, int in, int out)
{
    struct direction *d;
    directions = checked(realloc(directions, (direction_count + 1) * sizeof *directions));
    d = &directions[direction_count++];
    memset(d, 0, sizeof *d);
    snprintf(d->name, sizeof d->name, "%.36s %.15s>%.15s", link, from, to);
    d->in = in;
    d->out = out;
    return d;
}

static void add_link(const char *text)
{
    char link[37], a[IF_NAMESIZE], b[IF_NAMESIZE], rest;
    int64_t delay, jitter, rate;
    uint64_t loss;
    uint32_t limit;
    int found = sscanf(text, "%36[^,],%15[^,],%15[^,],%" SCNd64 ",%" SCNd64 ",%" SCNu64 ",%" SCNd64 ",%" SCNu32 "%c", link, a,
                       b, &delay, &jitter, &loss, &rate, &limit, &rest);
    if (found != 8)
        die("link '%s': expected name,ifA,ifB,delay_us,jitter_us,loss_ppm,rate_kbit,limit_packets", text);
    if (delay < 0 || jitter < 0 || jitter > delay || loss > 1000000 || rate < 0 || limit < 1 || limit > 1000000)
        die("link '%s': needs 0 <= jitter <= delay, loss <= 1000000, rate >= 0 and a limit of 1 to 1000000", text);
    int ends[2] = {open_interface(a), open_interface(b)};
    for (int k = 0; k < 2; k++) {
        struct direction *d = add_direction(link, k ? b : a, k ? a : b, ends[k], ends[1 - k]);
        d->delay = delay * 1000;
        d->jitter = jitter * 1000;
        d->loss = loss;
        d->rate = rate * 1000;
        d->limit = limit;
        for (d->capacity = 1; d->capacity < limit; d->capacity *= 2)
            ;
        d->ring = checked(calloc(d->capacity, sizeof *d->ring));
    }
}

static void add_links_of(const char *path)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");
    if (!file)
        die("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] && line[0] != '#')
            add_link(line);
    }
    if (ferror(file))
        die("%s: cannot be read", path);
    fclose(file);
}

/* Queues what a frame of `length` bytes that came at `arrival` has become; false if it is dropped. */
static int enqueue(struct direction *d, uint8_t *frame, uint32_t length, int64_t arrival)
{
    int64_t due = arrival;
    if (length > FRAME_BYTES) {
        d->oversized++;
        return 0;
    }
    if (d->loss && random_below(1000000) < d->loss) {
        d->lost++;
        return 0;
    }
    if (d->tail - d->head >= d->limit) {
        d->overflowed++;
        return 0;
    }
    if (d->rate) {
        due = (d->line_free > arrival ? d->line_free : arrival) + (int64_t)length * 8 * SECOND / d->rate;
        d->line_free = due;
    }
    due += d->delay;
    if (d->jitter)
        due += (int64_t)random_below((uint64_t)(2 * d->jitter + 1)) - d->jitter;
    if (due < d->last_due)
        due = d->last_due;
    d->last_due = due;
    *slot(d, d->tail++) = (struct packet){.due = due, .length = length, .frame = frame};
    return 1;
}

static void receive(struct direction *d)
{
    static uint8_t *frames[BATCH];
    static struct iovec vectors[BATCH];
    static struct mmsghdr messages[BATCH];
    for (int k = 0; k < BATCH; k++) {
        if (!frames[k])
            frames[k] = take_frame();
        vectors[k] = (struct iovec){.iov_base = frames[k], .iov_len = FRAME_BYTES};
        messages[k].msg_hdr = (struct msghdr){.msg_iov = &vectors[k], .msg_iovlen = 1};
    }
    /* MSG_TRUNC makes msg_len the frame's real length, so that one too long is seen and not cut. */
    int count = recvmmsg(d->in, messages, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
    int64_t arrival = now();
    for (int k = 0; k < count; k++) {
        d->received++;
        if (enqueue(d, frames[k], messages[k].msg_len, arrival))
            frames[k] = NULL;
    }
}

static void account(struct direction *d, int64_t late, int sent)
{
    if (!sent) {
        d->failed++;
        return;
    }
    d->sent++;
    d->late_total += late;
    if (late > d->late_worst)
        d->late_worst = late;
}

/* Sends what is due; a frame that the interface does not take is dropped, as a router would. */
static void send_due(struct direction *d, int64_t time)
{
    static struct iovec vectors[BATCH];
    static struct mmsghdr messages[BATCH];
    while (d->head != d->tail && slot(d, d->head)->due <= time) {
        unsigned count = 0, done = 0;
        for (; count < BATCH && d->head + count != d->tail && slot(d, d->head + count)->due <= time; count++) {
            struct packet *p = slot(d, d->head + count);
            vectors[count] = (struct iovec){.iov_base = p->frame, .iov_len = p->length};
            messages[count].msg_hdr = (struct msghdr){.msg_iov = &vectors[count], .msg_iovlen = 1};
        }
        while (done < count) {
            int sent = sendmmsg(d->out, messages + done, count - done, 0);
            unsigned step = sent > 0 ? (unsigned)sent : 1;
            if (sent < 0 && errno == EINTR)
                continue;
            for (unsigned k = 0; k < step; k++, done++)
                account(d, time - slot(d, d->head + done)->due, sent > 0);
        }
        for (unsigned k = 0; k < count; k++)
            give_frame(slot(d, d->head++)->frame);
    }
}

static void serve(void)
{
    struct pollfd *polled = checked(calloc(direction_count, sizeof *polled));
    sigset_t open_mask;
    sigemptyset(&open_mask);
    for (size_t k = 0; k < direction_count; k++)
        polled[k] = (struct pollfd){.fd = directions[k].in, .events = POLLIN};
    while (!stopping) {
        int64_t next = INT64_MAX;
        for (size_t k = 0; k < direction_count; k++) {
            struct direction *d = &directions[k];
            send_due(d, now());
            if (d->head != d->tail && slot(d, d->head)->due < next)
                next = slot(d, d->head)->due;
        }
        int64_t wait = next == INT64_MAX ? SECOND : next - now();
        if (wait < 0)
            wait = 0;
        struct timespec timeout = {.tv_sec = wait / SECOND, .tv_nsec = wait % SECOND};
        /* Signals are let in here only, so that one between the test of `stopping` and the wait is not slept over. */
        if (ppoll(polled, direction_count, &timeout, &open_mask) <= 0)
            continue;
        for (size_t k = 0; k < direction_count; k++) {
            if (polled[k].revents & POLLERR) { /* an interface that went down reports once */
                int error;
                socklen_t size = sizeof error;
                getsockopt(polled[k].fd, SOL_SOCKET, SO_ERROR, &error, &size);
            }
            if (polled[k].revents & POLLIN)
                receive(&directions[k]);
        }
    }
    free(polled);
}

static void report(void)
{
    struct rusage usage;
    for (size_t k = 0; k < direction_count; k++) {
        const struct direction *d = &directions[k];
        struct tpacket_stats kernel = {0};
        socklen_t size = sizeof kernel;
        getsockopt(d->in, SOL_PACKET, PACKET_STATISTICS, &kernel, &size);
        printf("%s received %" PRIu64 " sent %" PRIu64 " lost %" PRIu64 " queue-full %" PRIu64 " oversized %" PRIu64
               " refused %" PRIu64 " missed %u late-mean-us %.1f late-max-us %.1f\n",
               d->name, d->received, d->sent, d->lost, d->overflowed, d->oversized, d->failed, kernel.tp_drops,
               d->sent ? (double)d->late_total / 1e3 / (double)d->sent : 0.0, (double)d->late_worst / 1e3);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("cpu user %ld.%03ld s system %ld.%03ld s\n", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec / 1000,
           (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec / 1000);
}

static void on_signal(int signal)
{
    (void)signal;
    stopping = 1;
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t ending;
    int option;
    while ((option = getopt(count, arguments, "f:")) != -1) {
        if (option != 'f')
            die("usage: wanrelay [-f FILE] [LINK ...]");
        add_links_of(optarg);
    }
    for (int k = optind; k < count; k++)
        add_link(arguments[k]);
    if (!direction_count)
        die("no link given; usage: wanrelay [-f FILE] [LINK ...]");
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL);
    /* A wish: the relay should run when a packet is due, whoever else is busy. Nice values alone count only among the
     * processes of one session, where the kernel groups them (sched(7), "The autogroup feature"). */
    if (sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1}))
        setpriority(PRIO_PROCESS, 0, -20);
    printf("%zu links\n", direction_count / 2);
    fflush(stdout);
    serve();
    report();
    return 0;
}
