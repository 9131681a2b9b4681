// SPDX-License-Identifier: GPL-2.0-or-later
// The time-stamp counter of each CPU: one nominal rate, and on top of it an offset, a rate of its own, a step, and what idling
// costs. The nominal rate counts the host's CLOCK_MONOTONIC, by which QEMU's timers run as well, so that a CPU without a fault agrees
// with the guest's HPET and ACPI timer. While cycles are modelled the counters show those instead.

static struct counter {
    int64_t offset, adjust, step; // ticks; IA32_TSC_ADJUST; a step that is still to come
    double ppm, step_at_s;        // rate against the nominal one
    double idle_change;           // what idling adds to the rate: -1 stops the counter, 0 is a counter without a fault
    uint64_t idle_since;          // nominal ticks; 0 if busy
} counters[CPUS_MAX];
static uint64_t mhz = 2000, start_ns;
static bool only_while_ramping;

static bool tsc_configure(const char *line)
{
    char word[32];
    int length;
    struct cpu_range cpus;
    double share;
    if (!strcmp(line, "tsc ramping"))
        return only_while_ramping = true;
    if (sscanf(line, "tsc mhz %" SCNu64, &mhz) == 1)
        return mhz > 0;
    if (sscanf(line, "tsc %31s%n", word, &length) != 1 || !read_cpus(word, &cpus))
        return false;
    for (unsigned cpu = cpus.first; cpu <= cpus.last; cpu++) {
        struct counter *counter = &counters[cpu];
        if (sscanf(line + length, " idle %lf", &share) == 1 && share >= 0)
            counter->idle_change = share - 1;
        else if (sscanf(line + length, " offset %" SCNd64, &counter->offset) != 1 && sscanf(line + length, " ppm %lf", &counter->ppm) != 1 &&
                 sscanf(line + length, " step %" SCNd64 " %lf", &counter->step, &counter->step_at_s) != 2)
            return false;
    }
    return true;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t nominal_ticks(void)
{
    return (monotonic_ns() - start_ns) * mhz / 1000;
}

static int64_t at_own_rate(const struct counter *counter, uint64_t ticks)
{
    return ticks + (int64_t)(ticks * (counter->ppm * 1e-6));
}

static uint64_t tsc_read(unsigned cpu)
{
    struct counter *counter = &counters[cpu];
    if (cycles_run())
        return cycles_read(cpu) + counter->offset;
    uint64_t now = nominal_ticks();
    if (counter->step && now >= counter->step_at_s * mhz * 1e6) {
        counter->offset += counter->step;
        counter->step = 0;
    }
    return at_own_rate(counter, now) + counter->offset;
}

// A write of the counter, or of IA32_TSC_ADJUST, moves both.
static void tsc_move(unsigned cpu, int64_t ticks)
{
    counters[cpu].offset += ticks;
    counters[cpu].adjust += ticks;
}

// A halted K8 core slows its clock while the bits of its own node say so; they are looked at when it halts.
static void tsc_idle(unsigned cpu)
{
    struct counter *counter = &counters[cpu];
    bool loses = counter->idle_change && (!only_while_ramping || northbridge_ramps(nodes.of_cpu[cpu]));
    counter->idle_since = loses ? nominal_ticks() : 0;
}

static void tsc_resume(unsigned cpu)
{
    struct counter *counter = &counters[cpu];
    if (counter->idle_since)
        counter->offset += (int64_t)(at_own_rate(counter, nominal_ticks() - counter->idle_since) * counter->idle_change);
    counter->idle_since = 0;
}
