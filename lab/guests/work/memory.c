/* A dirtier: pages rewritten at a rate, each with a pattern that is checked before it is replaced.
 *
 *   memory start mib=64 rate=10    (MiB, MiB a second)
 *   memory verdict                 checks all pages
 *   memory flip                    changes one bit, so that there is something to find
 *   memory stop */
#include "pattern.h"
#include "work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    atomic_int stop;
    int runs;
    uint8_t *memory;
    uint32_t *generation; /* of each page's pattern */
    uint64_t pages, written, checked, wrong;
    double rate;
} m = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t seed_of(uint64_t page) { return page << 32 | m.generation[page]; }

static void check(uint64_t page)
{
    uint64_t first;
    m.checked++;
    m.wrong += pattern_check(m.memory + page * PAGE, PAGE, seed_of(page), 0, &first) > 0;
}

static void *dirty(void *unused)
{
    double start = now();
    uint64_t paced = 0;
    for (uint64_t page = 0; !m.stop; page = (page + 1) % m.pages) {
        pthread_mutex_lock(&m.lock);
        check(page);
        m.generation[page]++;
        pattern_write(m.memory + page * PAGE, PAGE, seed_of(page), 0);
        m.written++;
        pthread_mutex_unlock(&m.lock);
        if (++paced % 16 == 0)
            pace(m.rate * (1 << 20) / PAGE, &start, &paced);
    }
    return unused;
}

static void stop(void)
{
    if (!m.runs)
        return;
    m.stop = 1;
    pthread_join(m.thread, NULL);
    munmap(m.memory, m.pages * PAGE);
    free(m.generation);
    m.runs = 0;
}

static const char *start(double mib, double rate)
{
    stop();
    m.pages = mib * (1 << 20) / PAGE;
    m.memory = mmap(NULL, m.pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m.generation = m.memory == MAP_FAILED ? NULL : calloc(m.pages, sizeof *m.generation);
    if (!m.generation)
        return "no memory";
    for (uint64_t page = 0; page < m.pages; page++)
        pattern_write(m.memory + page * PAGE, PAGE, seed_of(page), 0);
    m.written = m.checked = m.wrong = 0;
    m.rate = rate;
    m.stop = 0;
    m.runs = !pthread_create(&m.thread, NULL, dirty, NULL);
    return m.runs ? NULL : "no thread";
}

int memory_command(const char *words, char *line, size_t size)
{
    const char *error = NULL;
    if (!strncmp(words, "start ", 6) && option(words, "mib", 0) >= 1)
        error = start(option(words, "mib", 0), option(words, "rate", 0));
    else if (!strcmp(words, "flip") && m.runs) {
        pthread_mutex_lock(&m.lock);
        m.memory[(m.written + m.pages / 2) % m.pages * PAGE + 77] ^= 4;
        pthread_mutex_unlock(&m.lock);
    } else if (!strcmp(words, "verdict") && m.runs) {
        pthread_mutex_lock(&m.lock);
        for (uint64_t page = 0; page < m.pages; page++)
            check(page);
        pthread_mutex_unlock(&m.lock);
    } else if (!strcmp(words, "stop"))
        stop();
    else
        return -1;
    if (error)
        return snprintf(line, size, "{\"error\":\"%s\"}\n", error);
    return snprintf(line, size, "{\"pages\":%" PRIu64 ",\"written\":%" PRIu64 ",\"checked\":%" PRIu64 ",\"wrong\":%" PRIu64 "}\n",
                    m.pages, m.written, m.checked, m.wrong);
}
