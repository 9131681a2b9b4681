// SPDX-License-Identifier: GPL-2.0-or-later
// The part of QEMU's plugin interface, version 7 (QEMU 11.1), that silicon uses, declared by hand as distributions do not package the
// header. Source: include/plugins/qemu-plugin.h of QEMU; the two arrays are GLib's.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { uint8_t *data; unsigned len; } GByteArray;
typedef struct { char *data; unsigned len; } GArray;
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *, unsigned length);

struct qemu_plugin_hwaddr;
struct qemu_plugin_insn;
struct qemu_plugin_register;
struct qemu_plugin_scoreboard;
struct qemu_plugin_tb;
typedef struct { struct qemu_plugin_scoreboard *score; size_t offset; } qemu_plugin_u64;
typedef struct { struct qemu_plugin_register *handle; const char *name, *feature; bool is_readonly; } qemu_plugin_reg_descriptor;
typedef struct {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    struct { int smp_vcpus, max_vcpus; } system;
} qemu_info_t;

enum { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS, QEMU_PLUGIN_CB_RW_REGS_PC };
enum { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };
typedef void (*vcpu_cb)(unsigned vcpu, void *data);
typedef void (*tb_cb)(struct qemu_plugin_tb *, void *data);
typedef void (*mem_cb)(unsigned vcpu, uint32_t info, uint64_t vaddr, void *data);

void qemu_plugin_register_vcpu_init_cb(uint64_t plugin, vcpu_cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(uint64_t plugin, vcpu_cb, void *data);
void qemu_plugin_register_vcpu_resume_cb(uint64_t plugin, vcpu_cb, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, tb_cb, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, vcpu_cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, mem_cb, int flags, int rw, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *, int op, qemu_plugin_u64, uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *bytes, size_t length);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
GArray *qemu_plugin_get_registers(void);
bool qemu_plugin_read_register(struct qemu_plugin_register *, GByteArray *);
bool qemu_plugin_write_register(struct qemu_plugin_register *, GByteArray *);
void qemu_plugin_set_pc(uint64_t vaddr) __attribute__((noreturn));
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);
int qemu_plugin_read_memory_hwaddr(uint64_t address, GByteArray *, size_t length);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
uint64_t qemu_plugin_u64_get(qemu_plugin_u64, unsigned vcpu);
