// SPDX-License-Identifier: GPL-2.0-or-later
// AMD's northbridges as PCI functions 00:18.x to 00:1f.x, reached by the ports CF8 and CFC of machine `pc`. No device of QEMU
// stands there, so nothing is taken from it. A register that no line names reads 0 and keeps nothing: the kernel would take one that
// keeps what is written for a base address, and size it.

#define FIRST_DEVICE 0x18
#define FUNCTIONS_MAX 8
#define ADDRESS_PORT 0xcf8
#define DATA_PORT 0xcfc

static struct function {
    bool exists;
    uint8_t bytes[256], is_writable[256];
} functions[NODES_MAX][FUNCTIONS_MAX];
static bool has_northbridges;
static uint32_t selected; // the kernel holds a lock from a write of the address to the access that follows

static void put(struct function *function, unsigned offset, uint32_t value, bool is_writable)
{
    for (unsigned i = 0; i < 4; i++) {
        function->bytes[offset + i] = value >> 8 * i;
        function->is_writable[offset + i] = is_writable;
    }
}

static bool northbridge_configure(const char *line)
{
    char kind[8];
    unsigned node, number, count, offset, value;
    if (sscanf(line, "northbridge %u %x %u", &node, &value, &count) == 3 && node < NODES_MAX && count <= FUNCTIONS_MAX) {
        for (number = 0; number < count; number++) {
            struct function *function = &functions[node][number];
            function->exists = has_northbridges = true;
            put(function, 0x00, (value + number) << 16 | 0x1022, false); // AMD
            put(function, 0x08, 0x06000000, false);                      // host bridge
            put(function, 0x0c, 0x00800000, false);                      // several functions
        }
        return true;
    }
    bool is_ours = sscanf(line, "%7s %u %u %x %x", kind, &node, &number, &offset, &value) == 5;
    bool is_writable = is_ours && !strcmp(kind, "pciw");
    if (!is_ours || (!is_writable && strcmp(kind, "pci")) || node >= NODES_MAX || number >= FUNCTIONS_MAX || offset > 252)
        return false;
    put(&functions[node][number], offset, value, is_writable);
    return functions[node][number].exists;
}

// Answers an access to the data port; false if what is selected is QEMU's.
static bool northbridge_access(bool is_write, unsigned port, unsigned bytes, uint32_t *value)
{
    unsigned device = selected >> 11 & 31, offset = (selected & 0xfc) + (port - DATA_PORT);
    bool is_ours = selected >> 31 && !(selected >> 16 & 0xff) && device >= FIRST_DEVICE;
    if (!is_ours || !functions[device - FIRST_DEVICE][0].exists)
        return false;
    struct function *function = &functions[device - FIRST_DEVICE][selected >> 8 & 7];
    uint32_t read = 0;
    for (unsigned i = 0; i < bytes; i++) {
        if (is_write && function->is_writable[offset + i])
            function->bytes[offset + i] = *value >> 8 * i;
        read |= (uint32_t)(function->exists ? function->bytes[offset + i] : 0xff) << 8 * i;
    }
    *value = is_write ? *value : read;
    return true;
}

static bool northbridge_ramps(unsigned node)
{
    // CpuLowPwrEnh, PMM7[0] at F3x87. Xen, arch/x86/cpu/amd.c: disable_c1_ramping.
    return functions[node][3].exists && functions[node][3].bytes[0x87] & 1;
}
