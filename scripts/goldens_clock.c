/* The pinned clock of goldens.py: a library for LD_PRELOAD that gives one fixed wall time to a whole process.

   libfaketime is no choice: its clock_nanosleep breaks time.sleep of Python (EINVAL) when only the wall time is pinned, and
   a pinned monotonic clock hangs every wait. Here waits, timeouts and file times stay real.

   HOLDFAST_GOLDENS_CLOCK holds the seconds since 1970. A process that leads a session of its own is a child that a hook left
   behind: it lives HOLDFAST_GOLDENS_LATER seconds later, as it may wait until an envelope is some seconds old. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long pinned;

__attribute__((constructor)) static void pin(void) {
    const char *clock = getenv("HOLDFAST_GOLDENS_CLOCK"), *later = getenv("HOLDFAST_GOLDENS_LATER");
    pinned = clock ? atol(clock) : 0;
    if (pinned && later && getsid(0) == getpid()) pinned += atol(later);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (pinned && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec = pinned;
        now->tv_nsec = 0;
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &at)) return -1;
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec at;
    if (clock_gettime(CLOCK_REALTIME, &at)) return (time_t)-1;
    if (now) *now = at.tv_sec;
    return at.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? base : 0;
}
