//! Flaws of the platform: what the sources said, raw, and what became of it for each flaw.
//!
//! The evidence is kept beside the verdicts, so that a later catalogue can judge an old record again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::{AttackVector, Cause, VectorState};

/// The key of a model-specific register in the evidence.
pub fn msr_key(number: u32) -> String {
    format!("{number:x}")
}

/// The key of a configuration word, or of a CPUID answer, in the evidence: function and offset, or leaf and subleaf.
pub fn pair_key(first: u32, second: u32) -> String {
    format!("{first:x}.{second:x}")
}

/// Registers that the catalogue wants to be read of a machine, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistersAsked {
    /// Numbers of model-specific registers.
    pub msr: BTreeSet<u32>,
    /// Configuration words of AMD nodes.
    pub pci: BTreeSet<PciWord>,
    /// CPUID leaves with their subleaves.
    pub cpuid: BTreeSet<(u32, u32)>,
    /// Feature flags of which it is asked whether the CPU has them.
    pub flags: BTreeSet<String>,
    /// Feature flags of which it is asked whether the kernel hides them.
    pub kernel_flags: BTreeSet<String>,
    /// Options of the kernel's configuration.
    pub kernel_options: BTreeSet<String>,
}

/// A configuration word of AMD nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciWord {
    /// PCI function.
    pub function: u32,
    /// Offset of the word in bytes.
    pub offset: u32,
}

/// What was asked of one source: an answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reading<T> {
    /// The answer.
    Is(T),
    /// Why there is no answer: absent, not permitted, made up by a hypervisor.
    Missing(String),
}

impl<T> Reading<T> {
    /// The answer, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Missing(_) => None,
        }
    }
}

/// One CPU as it presents itself: boards may mix steppings and microcode.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuSignature {
    /// Vendor string of CPUID.
    pub vendor: Option<String>,
    /// Displayed family.
    pub family: Option<u32>,
    /// Displayed model.
    pub model: Option<u32>,
    /// Stepping.
    pub stepping: Option<u32>,
    /// Microcode revision; a hypervisor may make it up.
    pub microcode: Option<u64>,
    /// The main id register of an Arm CPU, which has none of the numbers above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<machine::ArmSignature>,
    /// Models of which it is one, where the model that it names is made up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<u32>,
}

/// A register as one CPU or node shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterReading {
    /// CPU number, or node number of a PCI register.
    pub unit: u32,
    /// The whole register.
    pub value: Reading<u64>,
}

/// The shape of the machine, as far as flaws depend on it. 0 stands for "not told".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MachineShape {
    /// CPUs that are online.
    pub cpus: u32,
    /// Packages.
    pub packages: u32,
    /// NUMA nodes.
    pub nodes: u32,
    /// Hardware threads of the widest core.
    pub threads_per_core: u32,
    /// CPUs that share a second-level cache, at most.
    pub second_level_shared_by: u32,
    /// Different kinds of cores.
    pub core_kinds: u32,
    /// Last-level caches.
    pub last_level_caches: u32,
    /// Differing distances between nodes, the distance to oneself left out.
    pub distances: u32,
}

/// A number that a signature probe measured, with the control that must not move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignatureReading {
    /// The value, in `unit`.
    pub value: f64,
    /// 95 % interval of the value.
    pub interval: Interval,
    /// `core cycles`, `ns`, `ratio`.
    pub unit: String,
    /// Windows it rests on.
    pub count: u32,
    /// What the control is.
    pub control: String,
    /// Control: a ratio that is 1 when nothing else moved.
    pub control_ratio: f64,
    /// 95 % interval of the control's ratio.
    pub control_interval: Interval,
    /// True if the control held: within the probe's bounds.
    pub control_holds: bool,
}

/// Everything the sources said about one machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FlawEvidence {
    /// One entry per CPU, or one for all where the source tells only once.
    pub cpus: Vec<CpuSignature>,
    /// The architecture where it is known and not x86; the kernel alone reports flaws there.
    pub other_architecture: Option<String>,
    /// Who virtualises the machine; registers are then no evidence.
    pub hypervisor: Option<String>,
    /// Feature flags of /proc/cpuinfo, sorted; empty if not told.
    pub flags: Vec<String>,
    /// Flags that were asked for and that nothing shows, set or not: those of a CPUID dump without their leaf, and what only a
    /// kernel hides.
    #[serde(rename = "flags_untold", default, skip_serializing_if = "Vec::is_empty")]
    pub flags_unreported: Vec<String>,
    /// Release of the kernel, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
    /// Words of the `bugs` line of /proc/cpuinfo; missing on old kernels.
    pub bugs: Option<Vec<String>>,
    /// Files of /sys/devices/system/cpu/vulnerabilities by name; `None` where the folder is absent.
    pub vulnerabilities: Option<BTreeMap<String, Reading<String>>>,
    /// The kernel's command line.
    pub command_line: Option<String>,
    /// The words of it that were built into the kernel (CONFIG_CMDLINE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in_words: Option<String>,
    /// Options of the kernel's configuration that were asked for and that it names: true if built in or a module. Empty where
    /// the configuration was not read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_options: BTreeMap<String, bool>,
    /// `Speculation_*` fields of /proc/PID/status.
    pub task_status: BTreeMap<String, String>,
    /// Kernel messages that name flaws or workarounds, as found; empty where dmesg is closed.
    pub messages: Vec<String>,
    /// Model-specific registers by number in hexadecimal without prefix.
    pub msr: BTreeMap<String, Vec<RegisterReading>>,
    /// Words of AMD node configuration space by `function.offset`, both hexadecimal.
    pub pci: BTreeMap<String, Vec<RegisterReading>>,
    /// CPUID answers by `leaf.subleaf`, both hexadecimal: eax, ebx, ecx, edx.
    pub cpuid: BTreeMap<String, [u32; 4]>,
    /// Shape of the machine.
    pub shape: MachineShape,
    /// Toggles that this machine does not have, each with the reason: no advice names them. Empty where nobody looked.
    pub toggles_missing: BTreeMap<String, String>,
    /// What signature probes measured, by quantity; `Missing` says why a probe could not.
    pub timing: BTreeMap<String, Reading<SignatureReading>>,
}

impl FlawEvidence {
    /// Whether the CPU has this flag, or nothing shows whether it has.
    pub fn may_have_flag(&self, flag: &String) -> bool {
        self.flags.contains(flag) || self.flags_unreported.contains(flag)
    }
}

/// Yes, no, or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// The sources do not show it.
    #[default]
    Unknown,
}

/// State of a workaround.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkaroundState {
    /// In place.
    On,
    /// Not in place.
    Off,
    /// In place in part: on some CPUs, for some paths, or for those who ask.
    Partial,
    /// The kernel goes through the motions, without the microcode that would make them work.
    Attempted,
    /// The sources do not show it.
    #[default]
    Unknown,
}

/// Whether a machine is safe from a flaw: six states, as "safe" alone hides that some programs have to ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The machine does not have the flaw.
    NotAffected,
    /// The workaround protects every program. Older documents say `yes`, of machines without the flaw too.
    #[serde(alias = "yes")]
    Protected,
    /// The workaround protects programs that ask for it (prctl, seccomp), and no others.
    OnRequest,
    /// The workaround leaves some paths, some CPUs or the threads beside open.
    Partly,
    /// The machine has the flaw, and nothing effective stands against it. Older documents say `no`, of the two before too.
    #[serde(alias = "no")]
    NotProtected,
    /// The sources do not show it.
    #[default]
    Unknown,
}

impl Protection {
    /// Whether something of the flaw is open to programs that did nothing about it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::NotProtected | Self::Partly)
    }

    /// In words, the same everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAffected => "not affected",
            Self::Protected => "protected",
            Self::OnRequest => "on request",
            Self::Partly => "partly",
            Self::NotProtected => "not protected",
            Self::Unknown => "unknown",
        }
    }
}

/// What one source says of one flaw.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statement {
    /// In words: the file's text, the register's bits, the measured number; or why it is silent.
    pub says: String,
    /// Whether the CPU is affected, by this source.
    pub affected: Answer,
    /// Whether the workaround is on, by this source.
    pub workaround: WorkaroundState,
    /// Whether that protects, by this source.
    #[serde(default)]
    pub protected: Protection,
}

/// The three sources.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The kernel.
    pub kernel: Statement,
    /// Registers, CPUID and microcode.
    pub registers: Statement,
    /// Time.
    pub time: Statement,
}

/// A verdict that deserves a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// Time shows the price of a workaround of which the kernel says nothing.
    #[serde(rename = "paying_untold")]
    UndeclaredCost,
    /// The kernel pays for a workaround that cannot work without microcode.
    PayingUnprotected,
    /// The kernel works around what the CPU does not have, by what a hypervisor shows.
    WithoutNeed,
}

/// How a workaround is switched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkaroundSwitch {
    /// What the workaround does.
    pub does: String,
    /// The ways to switch it, or why there is none here.
    pub how: String,
    /// Who applies it: `the kernel`, `firmware`.
    pub applied_by: Vec<String>,
}

impl Display for WorkaroundSwitch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.does, self.how)
    }
}

/// One flaw against one machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlawVerdict {
    /// Name in the catalogue.
    pub id: String,
    /// What it is, in one line.
    pub title: String,
    /// Whether this machine has the flaw.
    pub affected: Answer,
    /// Why it is thought so.
    pub because: String,
    /// Whether its workaround is on, all sources taken together.
    pub workaround: WorkaroundState,
    /// Whether the machine is safe from it.
    pub protected: Protection,
    /// Whether the workaround costs now.
    pub paid: Answer,
    /// A verdict that deserves a line of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub special: Option<Special>,
    /// Who says what.
    #[serde(rename = "witnesses")]
    pub evidence: Evidence,
    /// Contradictions between sources, one sentence each.
    pub disagreements: Vec<String>,
    /// Why not every program is protected, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What is open of the attack vectors that the flaw has; empty where it is not here or the kernel's table does not name it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vectors: BTreeMap<AttackVector, VectorState>,
    /// How each workaround is switched, or what else can be done.
    #[serde(default)]
    pub switches: Vec<WorkaroundSwitch>,
    /// What would protect, complete: a boot option, a command, an update. None where nothing is to be done or known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Published costs with their sources, one line each.
    pub costs: Vec<String>,
}

impl FlawVerdict {
    /// What deserves a line of its own, in words, if something does.
    pub fn special_says(&self) -> Option<String> {
        Some(match self.special? {
            Special::UndeclaredCost => {
                "mitigation active (its cost applies here), and the kernel does not say so".to_owned()
            }
            Special::PayingUnprotected => {
                let is_reported = self.evidence.kernel.says.to_lowercase().contains("no microcode");
                let reason = if is_reported { ": no microcode" } else { "" };
                format!("mitigation active but ineffective{reason}")
            }
            Special::WithoutNeed => format!("mitigation active without need: {}", self.because),
        })
    }
}
