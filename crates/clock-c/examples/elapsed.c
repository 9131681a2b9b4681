/* Reads the clock a million times, and says what that took.
 *
 *   cc elapsed.c $(pkg-config --cflags --libs sidestep-clock) -o elapsed
 *   cc -static elapsed.c $(pkg-config --static --cflags --libs sidestep-clock) -o elapsed
 */

#include <inttypes.h>
#include <stdio.h>

#include "sidestep_clock.h"

int main(void)
{
    if (!sidestep_clock_start()) {
        fprintf(stderr, "nothing in this process gives a time\n");
        return 1;
    }
    bool counter = sidestep_clock_wait(UINT64_C(1000000000));
    uint64_t start = sidestep_clock_now_ns(), last = start;
    int backwards = 0;
    for (int i = 0; i < 1000000; i++) {
        uint64_t now = sidestep_clock_now_ns();
        backwards += now < last;
        last = now;
    }
    printf("%.1f ns a read from %s, %d backwards, within %" PRIu64 " ns\n", (double)(last - start) / 1e6,
           counter ? "the counters" : "the kernel", backwards, sidestep_clock_uncertainty_ns());
    return backwards != 0;
}
