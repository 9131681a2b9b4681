// SPDX-License-Identifier: GPL-2.0-or-later
// Modelled cycles: what programs do is charged to the CPU that does it, and all counters, so the kernel's clock too, count that.
//
//   an access  =  level 1 [+ level 2 [+ level 3 [+ memory of the node]]]      each term is added when the level before misses
//               + second TLB, when the first misses, + a walk, when that misses
//   a walk     =  the last entry's way through level 2, level 3 and memory; upper entries always hit the walker's own cache
//   erratum 298's workaround: that entry is in no cache of the core; northbridge (level 3) and memory answer each time
//   memory     =  the slower of data, memory + 2 hops(reader, home) and, where `probe` is given, of the last probe's answer:
//                 probe + hops(reader, home) + the longest of hops(home, node) + hops(node, reader)
//
// The kernel's own instructions are free, and while all CPUs are idle time passes as for the host. Caches are LRU; there is no
// prefetcher, no coherence, and no limit of bandwidth.

#define LINE_SHIFT 6
#define SMALL_PAGE_SHIFT 12
#define HUGE_PAGE_SHIFT 21
#define DIRECTORY_ENTRIES 64
// What a read of the counter costs. Any number above 0 lets the kernel's busy-waits end.
#define READ_CYCLES 50

struct cache {
    unsigned sets, ways, shift, cycles;
    uint64_t *tags;
};
// What the page directory says of 2 MiB: where the last entries of their walks lie.
struct directory_entry {
    uint64_t tag, entries;
    bool is_huge;
};
static struct core {
    struct cache caches[2], tlbs[2][2]; // the latter by size of page and level
    struct directory_entry directory[DIRECTORY_ENTRIES];
    uint64_t root, cycles, base;
    GByteArray *buffer;
    bool exists;
} cores[CPUS_MAX];
static struct cache level_3[NODES_MAX], caches[3], tlbs[2][2];
static pthread_mutex_t level_3_locks[NODES_MAX];
static unsigned memory, probe, hop, hops[NODES_MAX][NODES_MAX], memory_cycles[NODES_MAX][NODES_MAX];
static bool has_links, runs;
static qemu_plugin_u64 instructions;

static uint64_t now; // the modelled time of the CPU that is ahead
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned busy;
static uint64_t all_idle_since;

static bool set_geometry(struct cache *cache, unsigned entries, unsigned ways, unsigned shift, unsigned cycles)
{
    *cache = (struct cache){ .sets = ways ? entries / ways : 0, .ways = ways, .shift = shift, .cycles = cycles };
    return cache->sets && !(cache->sets & (cache->sets - 1)); // a power of two
}

static bool cycles_configure(const char *line)
{
    unsigned level, size, ways, cost, a, b;
    if (sscanf(line, "cache %u %u %u %u", &level, &size, &ways, &cost) == 4 && level >= 1 && level <= 3)
        return set_geometry(&caches[level - 1], size << 10 >> LINE_SHIFT, ways, LINE_SHIFT, cost);
    if (sscanf(line, "tlb %u %u %u %u %u", &a, &level, &size, &ways, &cost) == 5 && (a == 4 || a == 2048) && level - 1 < 2) {
        bool is_huge = a == 2048;
        return set_geometry(&tlbs[is_huge][level - 1], size, ways, is_huge ? HUGE_PAGE_SHIFT : SMALL_PAGE_SHIFT, cost);
    }
    if (sscanf(line, "link %u %u", &a, &b) == 2 && a < NODES_MAX && b < NODES_MAX && a != b) {
        hops[a][b] = hops[b][a] = has_links = true;
        return true;
    }
    return sscanf(line, "memory %u", &memory) == 1 || sscanf(line, "probe %u", &probe) == 1 || sscanf(line, "hop %u", &hop) == 1;
}

static unsigned read_cycles(unsigned reader, unsigned home)
{
    unsigned longest = 0, data = memory + 2 * hop * hops[reader][home];
    for (unsigned node = 0; node < nodes.count; node++)
        if (node != reader && hops[home][node] + hops[node][reader] > longest)
            longest = hops[home][node] + hops[node][reader];
    unsigned answers = probe ? probe + hop * (hops[reader][home] + longest) : 0;
    return answers > data ? answers : data;
}

static bool cycles_exist(void)
{
    return memory > 0;
}

static bool cycles_start(void)
{
    for (unsigned i = 0; i < 3; i++)
        if (!caches[i].sets)
            return false;
    for (unsigned i = 0; i < 4; i++)
        if (!tlbs[i / 2][i % 2].sets)
            return false;
    const unsigned far = 2 * NODES_MAX;
    for (unsigned a = 0; a < nodes.count; a++)
        for (unsigned b = 0; b < nodes.count; b++)
            hops[a][b] = a == b ? 0 : !has_links || hops[a][b] ? 1 : far;
    for (unsigned over = 0; over < nodes.count; over++)
        for (unsigned a = 0; a < nodes.count; a++)
            for (unsigned b = 0; b < nodes.count; b++)
                if (hops[a][over] + hops[over][b] < hops[a][b])
                    hops[a][b] = hops[a][over] + hops[over][b];
    for (unsigned a = 0; a < NODES_MAX; a++) {
        pthread_mutex_init(&level_3_locks[a], NULL);
        for (unsigned b = 0; b < NODES_MAX; b++)
            memory_cycles[a][b] = read_cycles(a, b);
    }
    instructions.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    return true;
}

static void cycles_idle(void)
{
    pthread_mutex_lock(&idle_lock);
    if (--busy == 0)
        all_idle_since = nominal_ticks();
    pthread_mutex_unlock(&idle_lock);
}

static void cycles_resume(void)
{
    pthread_mutex_lock(&idle_lock);
    if (busy++ == 0)
        __atomic_add_fetch(&now, nominal_ticks() - all_idle_since, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&idle_lock);
}

static struct cache made(struct cache geometry)
{
    geometry.tags = calloc(geometry.sets * geometry.ways, sizeof *geometry.tags);
    return geometry;
}

static void cycles_add_cpu(unsigned cpu)
{
    struct core *core = &cores[cpu];
    for (unsigned i = 0; i < 4; i++)
        core->tlbs[i / 2][i % 2] = made(tlbs[i / 2][i % 2]);
    for (unsigned i = 0; i < 2; i++)
        core->caches[i] = made(caches[i]);
    if (!level_3[nodes.of_cpu[cpu]].sets)
        level_3[nodes.of_cpu[cpu]] = made(caches[2]);
    core->buffer = g_byte_array_new();
    core->exists = true;
    cycles_resume();
}

static void cycles_charge_block(struct qemu_plugin_tb *block, unsigned cycles)
{
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, QEMU_PLUGIN_INLINE_ADD_U64, instructions, cycles);
}

static uint64_t charged(unsigned cpu)
{
    return cores[cpu].cycles + qemu_plugin_u64_get(instructions, cpu);
}

static bool cycles_run(void)
{
    return __atomic_load_n(&runs, __ATOMIC_RELAXED);
}

static void cycles_switch(bool on)
{
    __atomic_store_n(&now, nominal_ticks(), __ATOMIC_RELAXED);
    for (unsigned cpu = 0; cpu < CPUS_MAX && on; cpu++)
        if (cores[cpu].exists)
            cores[cpu].base = now - charged(cpu);
    __atomic_store_n(&runs, on, __ATOMIC_RELEASE);
}

// A CPU that is behind goes on from the time of the one that is ahead, so that time goes back between no two.
static uint64_t cycles_read(unsigned cpu)
{
    struct core *core = &cores[cpu];
    core->cycles += READ_CYCLES;
    uint64_t own = core->base + charged(cpu), ahead = __atomic_load_n(&now, __ATOMIC_RELAXED);
    while (ahead < own)
        if (__atomic_compare_exchange_n(&now, &ahead, own, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return own;
    core->base += ahead - own;
    return ahead;
}

// The ways of a set lie in the order of their use, the latest first.
static bool hits(struct cache *cache, uint64_t address)
{
    uint64_t place = address >> cache->shift, tag = place + 1; // 0 is an empty way
    uint64_t *set = &cache->tags[(place & (cache->sets - 1)) * cache->ways];
    unsigned way = 0;
    while (way < cache->ways - 1 && set[way] != tag)
        way++;
    bool is_there = set[way] == tag;
    memmove(set + 1, set, way * sizeof *set);
    set[0] = tag;
    return is_there;
}

static unsigned from_memory(unsigned cpu, uint64_t physical)
{
    unsigned home = 0;
    while (home + 1 < nodes.count && physical >= nodes.first_byte[home + 1])
        home++;
    return memory_cycles[nodes.of_cpu[cpu]][home];
}

// From the first level given on.
static unsigned through_caches(unsigned cpu, uint64_t physical, unsigned level)
{
    unsigned node = nodes.of_cpu[cpu], cost = 0;
    for (; level <= 2; level++) {
        struct cache *cache = &cores[cpu].caches[level - 1];
        cost += cache->cycles;
        if (hits(cache, physical))
            return cost;
    }
    pthread_mutex_lock(&level_3_locks[node]);
    bool is_there = hits(&level_3[node], physical);
    pthread_mutex_unlock(&level_3_locks[node]);
    return cost + caches[2].cycles + (is_there ? 0 : from_memory(cpu, physical));
}

static uint64_t table_entry(struct core *core, uint64_t address)
{
    uint64_t entry = 0;
    if (!qemu_plugin_read_memory_hwaddr(address, core->buffer, sizeof entry))
        memcpy(&entry, core->buffer->data, sizeof entry);
    return entry;
}

// AMD64 APM vol. 2 (24593), section 5.3: four levels of 512 entries of 8 bytes; bit 7 ends a walk early.
static const struct directory_entry *directory_entry(struct core *core, uint64_t vaddr)
{
    const uint64_t address = 0x000ffffffffff000, ends_here = 1 << 7;
    uint64_t tag = (vaddr >> HUGE_PAGE_SHIFT) + 1;
    struct directory_entry *found = &core->directory[tag % DIRECTORY_ENTRIES];
    if (found->tag == tag)
        return found;
    *found = (struct directory_entry){ .tag = tag };
    uint64_t table = core->root & address;
    for (unsigned shift = 39; shift >= HUGE_PAGE_SHIFT; shift -= 9) {
        uint64_t place = table + (vaddr >> shift & 511) * 8, entry = table_entry(core, place);
        found->is_huge = entry & ends_here && shift < 39;
        found->entries = found->is_huge ? place : entry & address;
        if (found->is_huge)
            break;
        table = entry & address;
    }
    return found;
}

static unsigned translation(unsigned cpu, uint64_t vaddr)
{
    struct core *core = &cores[cpu];
    const struct directory_entry *directory = directory_entry(core, vaddr);
    struct cache *tlb = core->tlbs[directory->is_huge];
    if (hits(&tlb[0], vaddr))
        return tlb[0].cycles;
    unsigned cost = tlb[0].cycles + tlb[1].cycles;
    if (hits(&tlb[1], vaddr))
        return cost;
    uint64_t entry = directory->entries + (directory->is_huge ? 0 : (vaddr >> SMALL_PAGE_SHIFT & 511) * 8);
    if (tables_uncached(cpu))
        return cost + caches[2].cycles + from_memory(cpu, entry);
    return cost + through_caches(cpu, entry, 2);
}

static void cycles_access(unsigned cpu, uint64_t vaddr, uint64_t physical)
{
    cores[cpu].cycles += translation(cpu, vaddr) + through_caches(cpu, physical, 1);
}

static void cycles_forget_translations(unsigned cpu, const uint64_t *root)
{
    struct core *core = &cores[cpu];
    if (root)
        core->root = *root;
    memset(core->directory, 0, sizeof core->directory);
    for (unsigned i = 0; i < 4; i++) {
        struct cache *tlb = &core->tlbs[i / 2][i % 2];
        memset(tlb->tags, 0, tlb->sets * tlb->ways * sizeof *tlb->tags);
    }
}
