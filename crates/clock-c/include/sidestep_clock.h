/* The clock of sidestep-clock for C. Made from the library's source: see the test `header`. */

#ifndef SIDESTEP_CLOCK_H
#define SIDESTEP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts the clock, which the other functions do as well. False if nothing in this process gives a time.
 */
bool sidestep_clock_start(void);

/*
 * Nanoseconds of CLOCK_MONOTONIC_RAW. Never less than what any thread was seen to read before. 0 if there is no clock.
 */
uint64_t sidestep_clock_now_ns(void);

/*
 * Sleeps until times come from the counters, at most so many nanoseconds; whether they do.
 */
bool sidestep_clock_wait(uint64_t limit_ns);

/*
 * Bound on the distance of a time from the kernel's clock, in nanoseconds.
 */
uint64_t sidestep_clock_uncertainty_ns(void);

/*
 * Two times that are further apart than this, in nanoseconds, were taken in that order, on whatever CPUs. UINT64_MAX while it
 * is not known.
 */
uint64_t sidestep_clock_boundary_ns(void);

/*
 * Where times come from: 0 nowhere, 1 the counters, 2 the kernel's code in this process, 3 the system call.
 */
int32_t sidestep_clock_source(void);

/*
 * How often the counters had to be calibrated anew.
 */
uint64_t sidestep_clock_generation(void);

#ifdef __cplusplus
}
#endif

#endif /* SIDESTEP_CLOCK_H */
