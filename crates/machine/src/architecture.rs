//! Which architecture a /proc/cpuinfo is of, where that is not x86 or Arm.

/// Keys of /proc/cpuinfo that only one architecture has, how their values begin, and its name. Linux, show_cpuinfo in
/// arch/s390/kernel/processor.c, ia64/kernel/setup.c (up to 6.6), powerpc/kernel/setup-common.c, riscv/kernel/cpu.c,
/// loongarch/kernel/proc.c, mips/kernel/proc.c, sparc/kernel/cpu.c, alpha/kernel/setup.c.
const KEYS: [(&str, &str, &str); 12] = [
    ("vendor_id", "IBM/S390", "s390x"),
    ("arch", "IA-64", "ia64"),
    ("cpu", "POWER", "powerpc64"),
    ("cpu", "PPC", "powerpc64"),
    ("isa", "rv64", "riscv64"),
    ("isa", "rv32", "riscv32"),
    ("system type", "generic-loongson", "loongarch64"),
    ("Model Name", "Loongson", "loongarch64"),
    ("cpu model", "MIPS", "mips64"),
    ("cpu model", "Cavium", "mips64"),
    ("type", "sun4", "sparc64"),
    ("cpu", "Alpha", "alpha"),
];

/// The architecture by the fields of /proc/cpuinfo, which `field` looks up by key; `None` for x86, Arm and what is not known.
pub fn architecture_of_cpuinfo<'t>(field: impl Fn(&str) -> Option<&'t str>) -> Option<&'static str> {
    let shows =
        |(key, start, _): &&(&str, &str, &str)| field(key).is_some_and(|value| value.starts_with(start));
    KEYS.iter().find(shows).map(|(.., name)| *name)
}
