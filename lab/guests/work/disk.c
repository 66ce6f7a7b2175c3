/* A writer: blocks of a file rewritten at a rate and synced, and read back from the disk, past the page cache.
 *
 *   disk start path=/disk/work mib=32 rate=2    (MiB, MiB a second)
 *   disk verdict                                syncs, reads everything back
 *   disk flip                                   changes one bit on the disk, so that there is something to find
 *   disk stop */
#define _GNU_SOURCE
#include "pattern.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SYNC_EVERY = 32 };

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    atomic_int stop;
    int runs, fd, direct, error;
    uint32_t *generation;
    uint8_t *block; /* aligned, as direct reading wants it */
    uint64_t blocks, written, synced, checked, wrong, random;
    double rate, longest; /* the longest that a sync took */
} d = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t seed_of(uint64_t block) { return ~block << 32 ^ d.generation[block]; }

static void write_block(uint64_t block)
{
    d.generation[block]++;
    pattern_write(d.block, PAGE, seed_of(block), 0);
    if (pwrite(d.fd, d.block, PAGE, block * PAGE) != PAGE)
        d.error = errno;
    d.written++;
}

static void sync_all(void)
{
    double t = now();
    if (fdatasync(d.fd))
        d.error = errno;
    d.synced = d.written;
    if (now() - t > d.longest)
        d.longest = now() - t;
}

static void check(uint64_t block)
{
    uint64_t first;
    d.checked++;
    if (pread(d.direct, d.block, PAGE, block * PAGE) != PAGE)
        d.error = errno, d.wrong++;
    else
        d.wrong += pattern_check(d.block, PAGE, seed_of(block), 0, &first) > 0;
}

static void *rewrite(void *unused)
{
    double start = now();
    uint64_t paced = 0;
    while (!d.stop && !d.error) {
        pthread_mutex_lock(&d.lock);
        d.random = pattern_word(d.random, d.written);
        write_block(d.random % d.blocks);
        if (d.written % SYNC_EVERY == 0) {
            sync_all();
            check(d.random / 7 % d.blocks);
        }
        pthread_mutex_unlock(&d.lock);
        paced++;
        pace(d.rate * (1 << 20) / PAGE, &start, &paced);
    }
    return unused;
}

static void stop(void)
{
    if (!d.runs)
        return;
    d.stop = 1;
    pthread_join(d.thread, NULL);
    close(d.fd);
    close(d.direct);
    free(d.generation);
    free(d.block);
    d.runs = 0;
}

static const char *start(const char *words)
{
    char path[LINE] = "/disk/work";
    const char *given = strstr(words, "path=");
    if (given)
        sscanf(given, "path=%255s", path);
    stop();
    d.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    d.direct = d.fd < 0 ? -1 : open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    d.blocks = option(words, "mib", 32) * (1 << 20) / PAGE;
    d.generation = calloc(d.blocks, sizeof *d.generation);
    d.block = aligned_alloc(PAGE, PAGE);
    if (d.direct < 0 || !d.generation || !d.block)
        return strerror(errno);
    d.written = d.synced = d.checked = d.wrong = d.error = d.stop = 0;
    d.longest = 0;
    d.rate = option(words, "rate", 2);
    for (uint64_t block = 0; block < d.blocks && !d.error; block++)
        write_block(block);
    sync_all();
    d.runs = !d.error && !pthread_create(&d.thread, NULL, rewrite, NULL);
    return d.error ? strerror(d.error) : NULL;
}

static void flip(void)
{
    uint64_t block = d.blocks / 2;
    sync_all();
    if (pread(d.direct, d.block, PAGE, block * PAGE) == PAGE) {
        d.block[99] ^= 16;
        if (pwrite(d.direct, d.block, PAGE, block * PAGE) != PAGE)
            d.error = errno;
    }
}

int disk_command(const char *words, char *line, size_t size)
{
    const char *error = NULL;
    if (!strncmp(words, "start", 5))
        error = start(words);
    else if (!strcmp(words, "flip") && d.runs) {
        pthread_mutex_lock(&d.lock);
        flip();
        for (uint64_t block = 0; block < d.blocks; block++) /* found at once, before it is written over */
            check(block);
        pthread_mutex_unlock(&d.lock);
    } else if (!strcmp(words, "verdict") && d.runs) {
        pthread_mutex_lock(&d.lock);
        sync_all();
        for (uint64_t block = 0; block < d.blocks; block++)
            check(block);
        pthread_mutex_unlock(&d.lock);
    } else if (!strcmp(words, "stop"))
        stop();
    else
        return -1;
    if (!error && d.error)
        error = strerror(d.error);
    if (error)
        return snprintf(line, size, "{\"error\":\"%s\"}\n", error);
    return snprintf(line, size,
                    "{\"blocks\":%" PRIu64 ",\"written\":%" PRIu64 ",\"synced\":%" PRIu64 ",\"checked\":%" PRIu64
                    ",\"wrong\":%" PRIu64 ",\"longest_sync\":%.4f}\n",
                    d.blocks, d.written, d.synced, d.checked, d.wrong, d.longest);
}
