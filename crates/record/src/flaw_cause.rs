//! Why a mitigation is off or in part, and which attack vectors that leaves open.

use serde::{Deserialize, Serialize};

/// Who attacks whom. Source: Linux 6.17, Documentation/admin-guide/hw-vuln/attack_vector_controls.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttackVector {
    /// A program reads the kernel's memory.
    UserKernel,
    /// A program reads another program's memory.
    UserUser,
    /// A guest reads the hypervisor's memory.
    GuestHost,
    /// A guest reads another guest's memory.
    GuestGuest,
    /// A program or guest reads what the other thread of its core works on.
    CrossThread,
}

impl AttackVector {
    /// All, in the order of the kernel's table.
    pub const ALL: [Self; 5] =
        [Self::UserKernel, Self::UserUser, Self::GuestHost, Self::GuestGuest, Self::CrossThread];

    /// The word behind `mitigations=` that excludes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::UserKernel => "no_user_kernel",
            Self::UserUser => "no_user_user",
            Self::GuestHost => "no_guest_host",
            Self::GuestGuest => "no_guest_guest",
            Self::CrossThread => "no_cross_thread",
        }
    }

    /// As the kernel names it: `user_kernel`.
    pub fn name(self) -> &'static str {
        self.word().trim_start_matches("no_")
    }

    /// True of those that only a kernel with KVM has on by default.
    pub fn requires_kvm(self) -> bool {
        matches!(self, Self::GuestHost | Self::GuestGuest)
    }

    /// What lies open without its mitigations.
    pub fn exposes(self) -> &'static str {
        match self {
            Self::UserKernel => "the kernel's memory, and through it all memory, to any program",
            Self::UserUser => "memory of a program to other programs",
            Self::GuestHost => "memory of the host to its guests",
            Self::GuestGuest => "memory of a guest to other guests",
            Self::CrossThread => "what one thread of a core works on to the other thread",
        }
    }
}

/// What stands against one attack vector of one flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VectorState {
    /// Mitigated.
    Closed,
    /// Mitigated for programs that ask.
    OnRequest,
    /// Open, and a word of the command line says so.
    OffByChoice,
    /// Open.
    Open,
    /// The sources do not show it.
    Unknown,
}

/// What kind of cause it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A word of the command line for this mitigation, or one that it depends on.
    OwnWord,
    /// `mitigations=off`.
    MitigationsOff,
    /// Words such as `no_guest_host` exclude what the kernel would mitigate it for.
    AttackVector,
    /// The kernel was built without it, or with it off by default.
    KernelConfiguration,
    /// The CPU does not offer what the mitigation requires.
    MissingFeature,
    /// The microcode or firmware lacks it.
    OldMicrocode,
    /// The kernel is older than the flaw.
    OldKernel,
    /// The kernel does no more by default.
    ByDesign,
    /// Firmware, a compiler or the operator would have to apply it, and has not.
    NotApplied,
    /// No source shows it.
    Unknown,
}

/// Why not every program is protected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// What kind it is.
    pub kind: CauseKind,
    /// What it is about: words of the command line, options of the kernel's configuration, flags of the CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// In words.
    pub says: String,
}
