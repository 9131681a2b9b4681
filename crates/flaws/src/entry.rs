//! One entry of the catalogue: a file of `flaws/`, as it is written.
//!
//! Each table of the file is a plain struct that refuses unknown keys, so that a misspelt one is reported with its
//! file and line.

use std::fmt;

use record::{FlawEvidence, Protection, WorkaroundState};
use serde::{Deserialize, Serialize};

use crate::{Causes, CpuRange};

/// What kind of flaw it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The CPU does something else than its manual says.
    Erratum,
    /// Secrets can leak.
    Vulnerability,
    /// It works as designed, and the design costs where one does not expect it.
    Design,
    /// Clocks or timers go wrong.
    Clock,
}

/// An architecture that the catalogue knows flaws of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// x86, 32 and 64 bits.
    X86,
    /// Arm CPUs; `arm64` is what Linux calls them.
    Arm64,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::X86 => "x86",
            Self::Arm64 => "arm64",
        })
    }
}

impl Architecture {
    /// That of an entry that names none.
    pub(crate) fn default_list() -> Vec<Self> {
        vec![Self::X86]
    }

    /// True of what an entry has that names none.
    pub(crate) fn is_default(list: &[Self]) -> bool {
        list == [Self::X86]
    }

    /// That of a machine; `None` if it is another or nothing tells.
    pub(crate) fn of(evidence: &FlawEvidence) -> Option<Self> {
        if let Some(name) = &evidence.other_architecture {
            return (name.starts_with("aarch64") || name.starts_with("arm")).then_some(Self::Arm64);
        }
        if evidence.cpus.iter().any(|cpu| cpu.arm.is_some()) {
            return Some(Self::Arm64);
        }
        (!evidence.cpus.is_empty() || !evidence.flags.is_empty()).then_some(Self::X86)
    }
}

/// One flaw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flaw {
    /// Stable name, the file's name: `amd-298`, `gds`.
    pub id: String,
    /// What it is, in one line.
    pub title: String,
    /// Erratum numbers, CVEs and names by which people look for it.
    pub aliases: Vec<String>,
    /// What kind of flaw it is.
    pub kind: Kind,
    /// Architectures whose CPUs can have it; x86 where none is named.
    #[serde(default = "Architecture::default_list", skip_serializing_if = "Architecture::is_default")]
    pub architectures: Vec<Architecture>,
    /// What goes wrong without a workaround.
    pub effect: String,
    /// The micro-operation that is slower with the workaround, or with the flaw where there is none; or `unknown`.
    pub suffers: String,
    /// Documents, the one that defines the flaw first.
    pub sources: Vec<String>,
    /// One affected CPU makes every CPU of the board affected.
    #[serde(default)]
    pub affects_whole_board: bool,
    /// CPUs that have it; empty where only `need`, the kernel or a register tells.
    #[serde(default)]
    pub affected: Vec<CpuRange>,
    /// CPUs of which some have it and some have not: the kernel, registers or time decide.
    #[serde(default)]
    pub unsure: Vec<CpuRange>,
    /// The lists are not complete, as the document was not at hand: a CPU that they do not name may have it, if `possible` lets it.
    #[serde(default)]
    pub incomplete: bool,
    /// CPUs of the same line that are repaired: said in the verdict.
    #[serde(default)]
    pub fixed: Vec<CpuRange>,
    /// CPUs that never had it, where no list names those that have.
    #[serde(default)]
    pub spared: Vec<CpuRange>,
    /// Who can have it at all, where no list says so.
    #[serde(default)]
    pub possible: Option<Possible>,
    /// What else must hold for the flaw to matter on a machine: all of them.
    #[serde(default)]
    pub need: Vec<Need>,
    /// Who works around it, and how that is switched.
    #[serde(default)]
    pub workaround: Vec<Workaround>,
    /// File below /sys/devices/system/cpu/vulnerabilities.
    #[serde(default)]
    pub vulnerability_file: Option<String>,
    /// CPUs at which the kernel looks, guests left out: elsewhere its "Not affected" says nothing. All where empty.
    #[serde(default)]
    pub kernel_looks_at: Vec<CpuRange>,
    /// CPUs at which only newer kernels look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_late: Option<KernelLate>,
    /// The part of that file that is meant: from this word to the end of its part.
    #[serde(default)]
    pub vulnerability_part: Option<String>,
    /// Wordings of that file which the general rule would misread, most special first.
    #[serde(default)]
    pub wording: Vec<Wording>,
    /// What makes the kernel leave it off, and what it then depends on.
    #[serde(default, skip_serializing_if = "Causes::is_empty")]
    pub causes: Causes,
    /// Word in the `bugs` line of /proc/cpuinfo.
    #[serde(default)]
    pub bug: Option<String>,
    /// State of the workaround wherever the kernel names the bug, if it then applies it in any case.
    #[serde(default)]
    pub bug_state: Option<WorkaroundState>,
    /// Other words of that line, for variants that the kernel keeps apart.
    #[serde(default)]
    pub sub_state: Vec<SubState>,
    /// Feature flags of /proc/cpuinfo that tell.
    #[serde(default)]
    pub kernel_flag: Vec<KernelFlag>,
    /// Fields of /proc/PID/status that tell.
    #[serde(default)]
    pub task_status: Vec<TaskStatus>,
    /// Words of the kernel's command line that tell.
    #[serde(default)]
    pub boot_word: Vec<BootWord>,
    /// The release from which on the kernel always works around it.
    #[serde(default)]
    pub kernel_release: Option<KernelRelease>,
    /// Messages of the kernel that tell, where they may be read.
    #[serde(default)]
    pub kernel_message: Vec<KernelMessage>,
    /// One register or the microcode suffices for the workaround; otherwise all belong together. Either way one that was not
    /// read leaves "off" open.
    #[serde(default)]
    pub any_register: bool,
    /// Model-specific registers that tell.
    #[serde(default)]
    pub msr: Vec<MsrBits>,
    /// Configuration words of AMD nodes that tell.
    #[serde(default)]
    pub pci: Vec<PciBits>,
    /// Feature flags of /proc/cpuinfo that are hidden as the workaround: registers as far as `any_register` goes.
    #[serde(default)]
    pub hidden_flag: Vec<HiddenFlag>,
    /// Bit of AMD's OS-visible workaround register.
    #[serde(default)]
    pub osvw: Option<Osvw>,
    /// CPUID bits that tell.
    #[serde(default)]
    pub cpuid: Vec<CpuidBit>,
    /// Microcode revisions from which on the workaround is there.
    #[serde(default)]
    pub microcode: Vec<MicrocodeFloor>,
    /// How time tells.
    #[serde(default)]
    pub signature: Option<Signature>,
    /// Why nothing can tell whether the workaround is on.
    #[serde(default)]
    pub no_detector: Option<NoDetector>,
    /// Published costs.
    #[serde(default)]
    pub cost: Vec<Cost>,
}

/// Vendors whose CPUs can have a flaw; those of all others cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Possible {
    /// Vendor strings of CPUID.
    pub vendors: Vec<String>,
    /// CPUs that are not x86 can have it too.
    #[serde(default)]
    pub other_architectures: bool,
    /// Why no other can have it, with the document that says so.
    pub because: String,
}

/// A condition on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Need {
    /// At least so many CPUs online.
    pub cpus_min: Option<u32>,
    /// At least so many packages.
    pub packages_min: Option<u32>,
    /// At least so many hardware threads per core.
    pub threads_per_core_min: Option<u32>,
    /// At least so many CPUs that share a second-level cache.
    pub second_level_shared_by_min: Option<u32>,
    /// At least so many kinds of cores.
    pub core_kinds_min: Option<u32>,
    /// At least so many last-level caches.
    pub last_level_caches_min: Option<u32>,
    /// At least so many differing distances between nodes.
    pub distances_min: Option<u32>,
    /// This flag of /proc/cpuinfo.
    pub flag: Option<String>,
    /// Not this flag of /proc/cpuinfo.
    pub without_flag: Option<String>,
    /// An x86 CPU, where no list of CPUs says so.
    pub x86: bool,
}

machine::named! {
    /// Who applies a workaround; its name is who, in words.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum AppliedBy {
        /// The board's firmware.
        Bios = "firmware",
        /// A microcode update.
        Microcode = "microcode",
        /// The kernel.
        Kernel = "the kernel",
        /// The hypervisor, for its guests.
        Hypervisor = "the hypervisor",
        /// The compiler, in each program.
        Compiler = "the compiler",
        /// Whoever runs the machine.
        Operator = "whoever runs the machine",
    }
}

/// One workaround.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Workaround {
    /// What it does.
    pub does: String,
    /// Where it is applied, if not wherever the flaw is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// Who applies it.
    pub by: Vec<AppliedBy>,
    /// How it is switched.
    pub switch: Switch,
    /// What makes it protect every program, complete: a boot option or a command. None where it is on by itself.
    #[serde(default)]
    pub fix: Option<String>,
    /// That is what the kernel does by itself: it helps only against what switched it off, and is no advice where nothing did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fix_is_default: bool,
    /// Flags of /proc/cpuinfo of which the CPU must offer one for that; any CPU where empty.
    #[serde(default)]
    pub fix_flags: Vec<String>,
}

/// How a workaround is switched: at least one of these.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// Name of a toggle of `sidestep toggles`.
    pub toggle: Option<String>,
    /// Boot option with its values, as they are written.
    pub boot: Option<String>,
    /// Compiler option.
    pub recompile: Option<String>,
    /// Firmware setting.
    pub firmware: Option<String>,
    /// What to run or arrange.
    pub arrange: Option<String>,
    /// Why it cannot be switched.
    pub never: Option<String>,
}

/// What a text in a file of the kernel means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// Part of the text, upper and lower case alike; empty for any text.
    pub contains: String,
    /// What it says of the workaround.
    pub state: WorkaroundState,
    /// Whether the machine is safe, where the state alone would say it wrong: safe without a workaround.
    #[serde(default)]
    pub protected: Option<Protection>,
    /// The kernel says so by the model that the CPU names: of one that is made up it says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_model: bool,
    /// What closes just this gap, where the entry's workaround is already on or is another.
    #[serde(default)]
    pub fix: Option<String>,
}

/// A flag of /proc/cpuinfo that tells of a workaround.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelFlag {
    /// The flag.
    pub name: String,
    /// State of the workaround when the flag is there; its absence says nothing.
    pub state: WorkaroundState,
    /// Who says so.
    pub source: String,
}

/// A variant of a flaw that the kernel keeps apart by a word of its own in the `bugs` line of /proc/cpuinfo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SubState {
    /// The word.
    pub bug: String,
    /// What it means for this machine.
    pub means: String,
    /// Who says so.
    pub source: String,
}

/// A feature flag of /proc/cpuinfo whose absence is the workaround, where others are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HiddenFlag {
    /// The flag.
    pub name: String,
    /// Who says so.
    pub source: String,
}

/// A field of /proc/PID/status that tells of a workaround.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskStatus {
    /// The field.
    pub field: String,
    /// Part of its text.
    pub contains: String,
    /// What it says of the workaround in this process.
    pub state: WorkaroundState,
}

/// A word of the kernel's command line that tells of a workaround.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BootWord {
    /// The word, or its beginning when it ends in `=` or `:`.
    pub word: String,
    /// What it says.
    pub state: WorkaroundState,
}

/// A release from which on the kernel always works around a flaw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelRelease {
    /// Its first two numbers; of older ones nothing is said.
    pub at_least: [u32; 2],
    /// Who says so.
    pub source: String,
}

/// CPUs of which older kernels say "Not affected" unseen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelLate {
    /// Which.
    pub cpus: Vec<CpuRange>,
    /// The first release that looks at them.
    pub since: KernelRelease,
}

/// A message of the kernel that tells of a workaround; its absence says nothing, as the buffer forgets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelMessage {
    /// Part of its text, upper and lower case alike.
    pub contains: String,
    /// What it says.
    pub state: WorkaroundState,
    /// The kernel says it of affected CPUs only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub affected: bool,
    /// Who says so.
    pub source: String,
}

/// What it means that a bit is as described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// The workaround is on; otherwise it is off.
    #[default]
    Workaround,
    /// The CPU is not affected; otherwise nothing is said.
    Immune,
    /// The CPU is affected unless another bit says immune; otherwise it is not affected.
    Affected,
    /// The CPU has the workaround's switch; otherwise the workaround is off, whatever other bits say.
    Switch,
}

/// Bits of a model-specific register.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MsrBits {
    /// Number of the register.
    pub number: u32,
    /// The bits.
    pub mask: u64,
    /// Their value when it is as `means` says.
    pub on: u64,
    /// What that means.
    #[serde(default)]
    pub means: Means,
    /// CPUs whose register has these bits; all CPUs of the entry where empty.
    #[serde(default)]
    pub cpus: Vec<CpuRange>,
    /// Who says so.
    pub source: String,
}

/// Bits of a configuration word of every AMD node (device 18h plus the node's number).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PciBits {
    /// PCI function.
    pub function: u32,
    /// Offset of the 32-bit word in bytes.
    pub offset: u32,
    /// The bits.
    pub mask: u32,
    /// Their value when the workaround is on.
    pub on: u32,
    /// Who says so.
    pub source: String,
}

/// A bit of AMD's OS-visible workaround status (C001_0141): 0 says repaired, 1 says a workaround is needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Osvw {
    /// The bit; it counts only if C001_0140, the number of valid bits, is larger.
    pub bit: u32,
    /// Who says so.
    pub source: String,
}

/// A CPUID bit that tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CpuidBit {
    /// Leaf.
    pub leaf: u32,
    /// Subleaf.
    #[serde(default)]
    pub subleaf: u32,
    /// `eax`, `ebx`, `ecx` or `edx`.
    pub register: String,
    /// The bit.
    pub bit: u32,
    /// What it means when it is set.
    pub means: Means,
    /// Who says so.
    pub source: String,
}

/// The microcode from which on a workaround is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MicrocodeFloor {
    /// For these CPUs. A revision of an AMD CPU counts only if it was made for the same model and stepping as the floor.
    pub cpus: CpuRange,
    /// First revision with the workaround.
    pub at_least: u64,
    /// Who says so.
    pub source: String,
}

/// How time tells whether the workaround is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Name of the signature probe.
    pub probe: String,
    /// The quantity it measures.
    pub quantity: String,
    /// Unit of the quantity: `core cycles`, `ns`, `ratio`.
    pub unit: String,
    /// What must not move.
    pub control: String,
    /// What to expect; on a CPU without one it is not measured.
    pub baseline: Vec<Baseline>,
}

/// What a signature measures on a CPU without and with the workaround.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// For these CPUs; any CPU where empty.
    #[serde(default)]
    pub cpus: Vec<CpuRange>,
    /// Published or measured value without the workaround.
    #[serde(default)]
    pub without: Option<f64>,
    /// Published or measured value with it.
    #[serde(default)]
    pub with: Option<f64>,
    /// An interval that ends below this says: off.
    pub off_at_most: f64,
    /// An interval that begins above this says: on.
    pub on_at_least: f64,
    /// Who says so.
    pub source: String,
}

/// Why nothing can tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoDetector {
    /// The reason.
    pub reason: String,
}

/// A published cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// What was measured and what it cost, with its unit.
    pub text: String,
    /// Who measured it.
    pub source: String,
}
