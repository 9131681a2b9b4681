// SPDX-License-Identifier: GPL-2.0-or-later
// Model-specific registers that keep what is written, one bank per CPU; some read-only, some ranges that fault. QEMU itself reads 0
// from a register that it does not know, and drops what is written.

#define BANKS_MAX 128
#define RANGES_MAX 32

static struct bank {
    uint32_t number;
    bool read_only;
    unsigned slow_ms; // a write takes so long: time to end the writer in the middle
    uint64_t value[CPUS_MAX];
} banks[BANKS_MAX];
static struct { uint32_t first, last; } faulting[RANGES_MAX];
static unsigned bank_count, range_count;
static uint32_t tsc_aux[CPUS_MAX];

enum {
    TIME_STAMP_COUNTER = 0x10,
    TSC_ADJUST = 0x3b,
    // Ours: 1 lets all counters show modelled cycles. A multiple of 8, as dd seeks in blocks of its own size.
    MODELLED_CYCLES = 0x4c414220,
};
#define TSC_AUX 0xc0000103
// Erratum 298: bit 3 of the first, TlbCacheDis, and bit 1 of the second. AMD 41322.
#define HWCR 0xc0010015
#define BU_CFG 0xc0011023

static struct bank *bank_of(uint32_t number)
{
    for (unsigned i = 0; i < bank_count; i++)
        if (banks[i].number == number)
            return &banks[i];
    return NULL;
}

static bool msr_configure(const char *line)
{
    char kind[4], word[32];
    uint32_t number, last;
    uint64_t value;
    struct cpu_range cpus;
    if (sscanf(line, "gp %x %x", &number, &last) == 2 && range_count < RANGES_MAX) {
        faulting[range_count].first = number;
        faulting[range_count++].last = last;
        return true;
    }
    if (sscanf(line, "slow %x %" SCNu64, &number, &value) == 2 && bank_of(number)) {
        bank_of(number)->slow_ms = value;
        return true;
    }
    bool is_ours = sscanf(line, "%3s %31s %x %" SCNx64, kind, word, &number, &value) == 4 && read_cpus(word, &cpus);
    if (!is_ours || (strcmp(kind, "msr") && strcmp(kind, "ro")) || (!bank_of(number) && bank_count == BANKS_MAX))
        return false;
    struct bank *bank = bank_of(number) ? bank_of(number) : &banks[bank_count++];
    bank->number = number;
    bank->read_only = kind[0] == 'r';
    for (unsigned cpu = cpus.first; cpu <= cpus.last; cpu++)
        bank->value[cpu] = value;
    return true;
}

// False means that the register is QEMU's; so in `msr_write`.
static bool msr_read(unsigned cpu, uint32_t number, uint64_t *value)
{
    const struct bank *bank = bank_of(number);
    if (bank)
        *value = bank->value[cpu];
    else if (number == TIME_STAMP_COUNTER)
        *value = tsc_read(cpu);
    else if (number == TSC_ADJUST)
        *value = counters[cpu].adjust;
    else if (number == MODELLED_CYCLES && cycles_exist())
        *value = cycles_run();
    else
        return false;
    return true;
}

static bool msr_write(unsigned cpu, uint32_t number, uint64_t value)
{
    struct bank *bank = bank_of(number);
    if (number == TSC_AUX)
        tsc_aux[cpu] = value; // QEMU keeps it as well, for RDPID
    else if (bank) {
        bank->value[cpu] = bank->read_only ? bank->value[cpu] : value;
        usleep(bank->slow_ms * 1000);
    } else if (number == TIME_STAMP_COUNTER)
        tsc_move(cpu, value - tsc_read(cpu));
    else if (number == TSC_ADJUST)
        tsc_move(cpu, value - counters[cpu].adjust);
    else if (number == MODELLED_CYCLES && cycles_exist())
        cycles_switch(value & 1);
    else
        return false;
    return number != TSC_AUX;
}

static bool msr_faults(uint32_t number)
{
    for (unsigned i = 0; i < range_count; i++)
        if (number >= faulting[i].first && number <= faulting[i].last)
            return true;
    return false;
}

// Whether this CPU keeps page-table entries out of its caches.
static bool tables_uncached(unsigned cpu)
{
    const struct bank *hwcr = bank_of(HWCR), *bu_cfg = bank_of(BU_CFG);
    return hwcr && bu_cfg && hwcr->value[cpu] >> 3 & 1 && bu_cfg->value[cpu] >> 1 & 1;
}
