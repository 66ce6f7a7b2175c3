/* weft-work: what all its parts share. Times are seconds; `now` is CLOCK_MONOTONIC. */
#ifndef WORK_H
#define WORK_H

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PORT = 5201, LINE = 256, PAGE = 4096 };

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
double now(void);
double wall(void);
/* Sleeps until a pace of `rate` units a second that began at `start` has reached `done` units; 0: does not sleep. A
 * pace that has fallen behind by more than half a second begins anew. */
void pace(double rate, double *start, uint64_t *done);

/* A connected socket, MPTCP if this kernel has it. Returns -1 with errno. */
int dial(const char *host, int port, double seconds);
int answer_on(int port);
/* Whether a connection is MPTCP still, or has fallen back to TCP; `*subflows` how many it has. */
int is_mptcp(int fd, int *subflows);
/* All of it, or -1. */
int send_all(int fd, const void *data, size_t length);
int receive_all(int fd, void *data, size_t length);
int receive_line(int fd, char *line, size_t size);

/* `value` of `key=value` among a command's words; `otherwise` if it is not there. */
double option(const char *words, const char *key, double otherwise);

void stream_serve(int fd, const char *words);
int stream_main(const char *host, int port, const char *words, const char *series);
void echo_serve(int fd, const char *words);
int echo_main(const char *host, int port, const char *words, const char *series);
/* A command's answer, as JSON; -1 if it is one that they do not know. */
int memory_command(const char *words, char *line, size_t size);
int disk_command(const char *words, char *line, size_t size);
/* Set by a signal that ends a client, which then says its verdict. */
extern volatile sig_atomic_t stopping;


#endif
