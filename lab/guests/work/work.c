/* weft-work: load for VMs that move, and proof that nothing was lost (docs/operate/guests.md).
 *
 *   weft-work serve [PORT]                            in the guest
 *   weft-work stream HOST [key=value …] [series=FILE] down=, up= (bytes a second; -1: as fast as it goes), seconds=,
 *                                                     drain=, patience=, flip_down=, flip_up= (a position to spoil)
 *   weft-work echo HOST [key=value …] [series=FILE]   bytes=, interval=, seconds=, patience=
 *   weft-work ask HOST WORD …                         memory start|verdict|flip|stop, disk start|verdict|flip|stop, ping
 *
 * port= goes with all of them (5201). Clients end at SIGTERM or SIGINT and print their verdict, one line of JSON; they
 * fail if the connection did. */
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t stopping;

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("weft-work: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static double clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

double now(void) { return clock_of(CLOCK_MONOTONIC); }
double wall(void) { return clock_of(CLOCK_REALTIME); }

void pace(double rate, double *start, uint64_t *done)
{
    if (rate <= 0)
        return;
    double ahead = *done / rate - (now() - *start);
    if (ahead > 0.001) {
        struct timespec rest = {.tv_sec = ahead, .tv_nsec = (ahead - (time_t)ahead) * 1e9};
        nanosleep(&rest, NULL);
    } else if (ahead < -0.5) {
        *start = now();
        *done = 0;
    }
}

double option(const char *words, const char *key, double otherwise)
{
    size_t length = strlen(key);
    for (const char *at = words; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == '=')
            return strtod(at + length + 1, NULL);
    return otherwise;
}

static void *converse(void *argument)
{
    int fd = (int)(intptr_t)argument;
    char line[LINE], answer[1024] = "{\"error\":\"what is that?\"}\n";
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (!receive_line(fd, line, sizeof line)) {
        char *words = strchr(line, ' ') ? strchr(line, ' ') + 1 : line;
        if (!strncmp(line, "stream ", 7))
            stream_serve(fd, words);
        else if (!strncmp(line, "echo ", 5))
            echo_serve(fd, words);
        else {
            pthread_mutex_lock(&one_at_a_time);
            if (!strcmp(line, "ping"))
                strcpy(answer, "{}\n");
            else if (!strncmp(line, "memory ", 7))
                memory_command(words, answer, sizeof answer);
            else if (!strncmp(line, "disk ", 5))
                disk_command(words, answer, sizeof answer);
            pthread_mutex_unlock(&one_at_a_time);
            send_all(fd, answer, strlen(answer));
        }
    }
    close(fd);
    return NULL;
}

__attribute__((noreturn)) static void serve(int port)
{
    int listener = answer_on(port);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, &detached, converse, (void *)(intptr_t)fd))
            close(fd);
    }
}

static int ask(const char *host, int port, const char *words)
{
    char answer[1024];
    int fd = dial(host, port, 10);
    if (fd < 0 || send_all(fd, words, strlen(words)) || send_all(fd, "\n", 1) || receive_line(fd, answer, sizeof answer))
        die("%s port %d: %s", host, port, strerror(errno));
    puts(answer);
    return strstr(answer, "\"error\"") != NULL;
}

static void on_signal(int number)
{
    (void)number;
    stopping = 1;
}

int main(int count, char **arguments)
{
    const char *command = count > 1 ? arguments[1] : "", *series = NULL;
    char words[LINE] = "";
    int port = PORT;
    signal(SIGPIPE, SIG_IGN);
    if (!strcmp(command, "serve"))
        serve(count > 2 ? atoi(arguments[2]) : PORT);
    if (count < 3)
        die("serve [PORT] | stream HOST … | echo HOST … | ask HOST …");
    for (int i = 3; i < count; i++) {
        if (!strncmp(arguments[i], "series=", 7))
            series = arguments[i] + 7;
        else if (!strncmp(arguments[i], "port=", 5))
            port = atoi(arguments[i] + 5);
        else if (strlen(words) + strlen(arguments[i]) + 2 > sizeof words)
            die("so many words are too many");
        else
            strcat(strcat(words, *words ? " " : ""), arguments[i]);
    }
    struct sigaction on = {.sa_handler = on_signal};
    if (!strcmp(command, "ask"))
        return ask(arguments[2], port, words);
    sigaction(SIGTERM, &on, NULL);
    sigaction(SIGINT, &on, NULL);
    if (!strcmp(command, "stream"))
        return stream_main(arguments[2], port, words, series);
    if (!strcmp(command, "echo"))
        return echo_main(arguments[2], port, words, series);
    die("%s: no such command", command);
}
