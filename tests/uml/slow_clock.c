/* Loaded into the kernel of user-mode Linux: its clock runs FAIRWAY_SLOWNESS times slower than the host's.
 *
 * A whole cluster on that kernel is about as many times slower than on the host, most of all in starting
 * processes. With such a clock it looks like a machine of ordinary speed, so that what has a time limit in
 * real life, such as a probe, keeps it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#define SECOND 1000000000LL

static long long slowness(void) {
    static long long known;
    if (!known) {
        const char *given = getenv("FAIRWAY_SLOWNESS");
        known = given && atoll(given) > 0 ? atoll(given) : 1;
    }
    return known;
}

static struct timespec stretched(struct timespec given, long long times, long long parts) {
    long long total = (given.tv_sec * SECOND + given.tv_nsec) * times / parts;
    return (struct timespec){total / SECOND, total % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static struct timespec begun[2];
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
        return failed;
    struct timespec *start = &begun[clock == CLOCK_MONOTONIC];
    if (!start->tv_sec)
        *start = *now;
    long long since = (now->tv_sec - start->tv_sec) * SECOND + now->tv_nsec - start->tv_nsec;
    long long shown = start->tv_sec * SECOND + start->tv_nsec + since / slowness();
    *now = (struct timespec){shown / SECOND, shown % SECOND};
    return 0;
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *wanted, struct itimerspec *before) {
    static int (*real)(timer_t, int, const struct itimerspec *, struct itimerspec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "timer_settime");
    struct itimerspec later = {
        .it_interval = stretched(wanted->it_interval, slowness(), 1),
        .it_value = stretched(wanted->it_value, slowness(), 1),
    };
    return real(timer, flags, &later, before);
}
