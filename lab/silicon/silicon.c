// SPDX-License-Identifier: GPL-2.0-or-later
// silicon: a plugin of QEMU that makes a stock emulated PC behave like one given machine: counters that drift, registers that keep
// what is written, northbridges, modelled cycles. README.md beside this file describes the configuration.
//
// Instructions that QEMU would answer itself (RDTSC, RDMSR, WRMSR, IN, OUT) are answered here, and the program counter is moved
// past them.

#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "qemu_plugin.h"

// At most. AMD's northbridges are PCI devices 18h to 1Fh: eight nodes.
#define CPUS_MAX 64
#define NODES_MAX 8
#define EXPORTED __attribute__((visibility("default")))

struct cpu_range { unsigned first, last; };
static struct { unsigned count, of_cpu[CPUS_MAX]; uint64_t first_byte[NODES_MAX + 1]; } nodes;

// Reads `all`, `3` or `0-3`.
static bool read_cpus(const char *word, struct cpu_range *range)
{
    *range = (struct cpu_range){ 0, CPUS_MAX - 1 };
    int found = sscanf(word, "%u-%u", &range->first, &range->last);
    if (found == 1)
        range->last = range->first;
    return !strcmp(word, "all") || (found >= 1 && range->first <= range->last && range->last < CPUS_MAX);
}

// One unit: each part has a file, and none is used without the others.
static bool cycles_exist(void), cycles_run(void);
static void cycles_switch(bool on);
static uint64_t cycles_read(unsigned cpu);
#include "northbridge.c"
#include "tsc.c"
#include "msr.c"
#include "cycles.c"

EXPORTED int qemu_plugin_version = 7;

enum kind { RDTSC, RDTSCP, RDMSR, WRMSR, IN, OUT, WRITE_CR3, FLUSH_PAGE };
// All that is known of an instruction when it is translated, in the bits of a pointer.
union site {
    struct { unsigned kind : 4, length : 4, operand : 8, page_offset : 12; } of;
    uintptr_t bits;
};
// QEMU raises #GP for the last of x2APIC's registers, which is reserved, whether or not the CPU has x2APIC.
#define FAULTING_MSR 0x8ff
// AMD 40546, Software Optimization Guide for Family 10h, appendix C: IMUL of 32 bits takes 3 cycles; all else is charged 1.
#define MULTIPLY_CYCLES 3

static const char *const register_names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                              "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip", "cs" };
enum { RAX, RCX, RDX, RIP = 16, CS, REGISTERS };
static struct qemu_plugin_register *registers[REGISTERS];
static GByteArray *buffers[CPUS_MAX];
static bool is_pinned;

static uint64_t get(unsigned cpu, unsigned which)
{
    uint64_t value = 0;
    g_byte_array_set_size(buffers[cpu], 0);
    qemu_plugin_read_register(registers[which], buffers[cpu]);
    memcpy(&value, buffers[cpu]->data, buffers[cpu]->len < sizeof value ? buffers[cpu]->len : sizeof value);
    return value;
}

static void set(unsigned cpu, unsigned which, uint64_t value)
{
    g_byte_array_set_size(buffers[cpu], sizeof value);
    memcpy(buffers[cpu]->data, &value, sizeof value);
    qemu_plugin_write_register(registers[which], buffers[cpu]);
}

static void set_pair(unsigned cpu, uint64_t value)
{
    set(cpu, RAX, (uint32_t)value);
    set(cpu, RDX, value >> 32);
}

// True if the instruction has been answered. What user programs may not do is left to QEMU, which refuses it.
static bool answer_msr(unsigned cpu, bool is_write)
{
    if (get(cpu, CS) & 3)
        return false;
    uint32_t number = get(cpu, RCX);
    uint64_t value = get(cpu, RDX) << 32 | (uint32_t)get(cpu, RAX);
    bool is_ours = is_write ? msr_write(cpu, number, value) : msr_read(cpu, number, &value);
    if (is_ours && !is_write)
        set_pair(cpu, value);
    if (!is_ours && msr_faults(number))
        set(cpu, RCX, FAULTING_MSR);
    return is_ours;
}

static bool answer_port(unsigned cpu, bool is_write, unsigned bytes)
{
    unsigned port = (uint16_t)get(cpu, RDX);
    uint32_t value = get(cpu, RAX);
    if (port == ADDRESS_PORT && is_write && bytes == 4)
        selected = value; // QEMU has to know it as well
    if (port < DATA_PORT || port + bytes > DATA_PORT + 4 || !northbridge_access(is_write, port, bytes, &value))
        return false;
    // A read of 4 bytes clears the upper half of RAX, shorter ones keep the rest.
    if (!is_write)
        set(cpu, RAX, value | (bytes == 4 ? 0 : get(cpu, RAX) >> 8 * bytes << 8 * bytes));
    return true;
}

static bool answer(unsigned cpu, union site site)
{
    uint64_t root;
    switch ((enum kind)site.of.kind) {
    case RDTSCP:
        set(cpu, RCX, tsc_aux[cpu]);
        /* fall through */
    case RDTSC:
        set_pair(cpu, tsc_read(cpu));
        return true;
    case RDMSR:
    case WRMSR:
        return answer_msr(cpu, site.of.kind == WRMSR);
    case IN:
    case OUT:
        return answer_port(cpu, site.of.kind == OUT, site.of.operand);
    case WRITE_CR3:
        root = get(cpu, site.of.operand);
        cycles_forget_translations(cpu, &root);
        return false;
    case FLUSH_PAGE:
        cycles_forget_translations(cpu, NULL);
        return false;
    }
    return false;
}

static void on_execute(unsigned cpu, void *data)
{
    union site site = { .bits = (uintptr_t)data };
    if (!answer(cpu, site))
        return;
    // Blocks are shared between mappings of a page, so its address is that of where the CPU is; a block may begin on the page before.
    uint64_t block = get(cpu, RIP), pc = (block & ~0xfffull) | site.of.page_offset;
    qemu_plugin_set_pc((pc < block ? pc + 0x1000 : pc) + site.of.length);
}

static void on_memory(unsigned cpu, uint32_t info, uint64_t vaddr, void *data)
{
    (void)data;
    if (!cycles_run())
        return;
    struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, vaddr);
    if (place && !qemu_plugin_hwaddr_is_io(place))
        cycles_access(cpu, vaddr, qemu_plugin_hwaddr_phys_addr(place));
}

// Which of our instructions the bytes are; false for all others.
static bool recognise(const uint8_t *bytes, size_t length, union site *site)
{
    site->of.length = length;
    const uint8_t *code = bytes;
    bool is_short = *code == 0x66, is_extended = (*code & 0xf0) == 0x40;
    bool extends_operand = is_extended && *code & 1;
    if (is_short || is_extended) {
        code++;
        length--;
    }
    if (length == 1 && has_northbridges && code[0] >= 0xec && code[0] <= 0xef) { // IN and OUT by DX
        site->of.kind = code[0] < 0xee ? IN : OUT;
        site->of.operand = !(code[0] & 1) ? 1 : is_short ? 2 : 4;
        return true;
    }
    if (length < 2 || code[0] != 0x0f)
        return false;
    if (length == 2 && code[1] >= 0x30 && code[1] <= 0x32) {
        site->of.kind = (enum kind[]){ WRMSR, RDTSC, RDMSR }[code[1] - 0x30];
        return true;
    }
    if (length == 3 && code[1] == 0x01 && code[2] == 0xf9) {
        site->of.kind = RDTSCP;
        return true;
    }
    if (length == 3 && cycles_exist() && code[1] == 0x22 && (code[2] & 0x38) == 3 << 3) { // MOV to CR3
        site->of.kind = WRITE_CR3;
        site->of.operand = (code[2] & 7) + 8 * extends_operand;
        return true;
    }
    if (length >= 3 && cycles_exist() && code[1] == 0x01 && (code[2] & 0x38) == 7 << 3 && code[2] < 0xc0) { // INVLPG
        site->of.kind = FLUSH_PAGE;
        return true;
    }
    return false;
}

static bool is_multiply(const uint8_t *bytes, size_t length)
{
    size_t at = (bytes[0] & 0xf0) == 0x40;
    return length > at + 1 && ((bytes[at] == 0x0f && bytes[at + 1] == 0xaf) || bytes[at] == 0x69 || bytes[at] == 0x6b);
}

static void on_translate(struct qemu_plugin_tb *block, void *data)
{
    (void)data;
    bool is_charged = cycles_exist() && !(qemu_plugin_tb_vaddr(block) >> 63), leaves = false;
    unsigned cycles = 0;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint8_t bytes[16] = { 0 };
        size_t length = qemu_plugin_insn_data(instruction, bytes, sizeof bytes);
        union site site = { .of.page_offset = qemu_plugin_insn_vaddr(instruction) & 0xfff };
        if (recognise(bytes, length, &site)) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_execute, QEMU_PLUGIN_CB_RW_REGS_PC, (void *)site.bits);
            // A counter that is read ends the block: what follows it is charged to the block that begins there.
            leaves |= site.of.kind <= RDTSCP;
        } else if (is_charged) {
            qemu_plugin_register_vcpu_mem_cb(instruction, on_memory, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
            cycles += leaves ? 0 : is_multiply(bytes, length) ? MULTIPLY_CYCLES : 1;
        }
    }
    if (cycles)
        cycles_charge_block(block, cycles);
}

// Gives the calling thread, which emulates the CPU, one of the host's CPUs in turn: counters are compared by two that run at once.
static void pin(unsigned cpu)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (unsigned host = 0, nth = cpu % CPU_COUNT(&allowed); host < CPU_SETSIZE; host++)
        if (CPU_ISSET(host, &allowed) && nth-- == 0)
            CPU_SET(host, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void on_start(unsigned cpu, void *data)
{
    (void)data;
    if (is_pinned)
        pin(cpu);
    if (cpu >= CPUS_MAX) {
        fprintf(stderr, "silicon: CPU %u is one of more than %u; raise CPUS_MAX in silicon.c\n", cpu, CPUS_MAX);
        exit(1);
    }
    buffers[cpu] = g_byte_array_new();
    GArray *found = qemu_plugin_get_registers();
    const qemu_plugin_reg_descriptor *all = (void *)found->data;
    for (unsigned i = 0; i < found->len; i++)
        for (unsigned which = 0; which < REGISTERS; which++)
            if (!strcmp(all[i].name, register_names[which]))
                registers[which] = all[i].handle;
    if (cycles_exist())
        cycles_add_cpu(cpu);
}

static void on_idle(unsigned cpu, void *data)
{
    (void)data;
    tsc_idle(cpu);
    cycles_idle();
}

static void on_resume(unsigned cpu, void *data)
{
    (void)data;
    cycles_resume();
    tsc_resume(cpu);
}

static bool nodes_configure(const char *line)
{
    char word[32];
    unsigned node, mib;
    struct cpu_range cpus;
    if (!strcmp(line, "pin"))
        return is_pinned = true;
    if (sscanf(line, "node %u %31s %u", &node, word, &mib) != 3 || node != nodes.count || node >= NODES_MAX || !read_cpus(word, &cpus))
        return false;
    for (unsigned cpu = cpus.first; cpu <= cpus.last; cpu++)
        nodes.of_cpu[cpu] = node;
    nodes.first_byte[node + 1] = nodes.first_byte[node] + ((uint64_t)mib << 20);
    nodes.count++;
    return true;
}

static bool configure(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "silicon: cannot read %s; give conf=FILE\n", path);
        return false;
    }
    for (unsigned number = 1; fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "#\n")] = 0;
        for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--)
            line[end - 1] = 0;
        if (*line && !nodes_configure(line) && !tsc_configure(line) && !msr_configure(line) && !northbridge_configure(line) &&
            !cycles_configure(line)) {
            fprintf(stderr, "silicon: %s:%u: cannot understand '%s'; lab/silicon/README.md lists what can stand there\n", path, number, line);
            fclose(file);
            return false;
        }
    }
    fclose(file);
    if (cycles_exist() && !cycles_start()) {
        fprintf(stderr, "silicon: %s: `memory` needs three `cache` and four `tlb` lines\n", path);
        return false;
    }
    return true;
}

EXPORTED int qemu_plugin_install(uint64_t id, const qemu_info_t *info, int argc, char **argv)
{
    if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
        fprintf(stderr, "silicon: this is %s; it runs in qemu-system-x86_64\n", info->target_name);
        return 1;
    }
    start_ns = monotonic_ns();
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "conf=", 5) || !configure(argv[i] + 5))
            return 1;
    qemu_plugin_register_vcpu_init_cb(id, on_start, NULL);
    qemu_plugin_register_vcpu_idle_cb(id, on_idle, NULL);
    qemu_plugin_register_vcpu_resume_cb(id, on_resume, NULL);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
    return 0;
}
