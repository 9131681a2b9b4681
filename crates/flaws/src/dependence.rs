//! What a mitigation of the kernel depends on: words, options of its configuration, flags, attack vectors. Data of an entry.
//!
//! Source of the vectors and of SMT: Linux 6.17, Documentation/admin-guide/hw-vuln/attack_vector_controls.rst.

use std::collections::BTreeMap;

use record::AttackVector;
use serde::{Deserialize, Serialize};

/// Options without which a kernel of x86 has no mitigation at all; the second is the name before Linux 6.10.
pub(crate) const ANY_MITIGATION: [&str; 2] = ["CONFIG_CPU_MITIGATIONS", "CONFIG_SPECULATION_MITIGATIONS"];

/// Options by which the words that are built into the kernel are all that hold: x86, then arm64. Linux 7.3.4, arch/x86/kernel/setup.c,
/// setup_arch; arch/arm64/Kconfig.
pub(crate) const BUILT_IN_ALONE: [&str; 2] = ["CONFIG_CMDLINE_OVERRIDE", "CONFIG_CMDLINE_FORCE"];

/// What makes the kernel leave a mitigation off, and what it depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Causes {
    /// Words of the command line that switch it off or weaken it, of options that it depends on too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off_words: Vec<String>,
    /// Option of the kernel's configuration that decides whether it is on by default; a word of the command line goes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_default: Option<String>,
    /// Options without which the kernel has no code for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_code: Vec<String>,
    /// What holds of some CPUs only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<CausesOf>,
    /// What mitigates it without such a flag, by software alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub software: Vec<Software>,
    /// Its attack vectors by the kernel's table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<AttackVector>,
    /// `mitigations=auto,nosmt` switches SMT off unless the CPU offers one of these flags. None where it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt_off_unless: Option<Vec<String>>,
    /// The vectors by which the kernel's code decides, where these are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_code: Option<VectorCode>,
    /// The kernel mitigates each vector for itself: an excluded one is open though another is on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub taken_apart: bool,
    /// Texts of the kernel that leave some of the vectors open and close the others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub open: BTreeMap<String, Vec<AttackVector>>,
}

/// What a mitigation depends on where the CPU fulfils every condition that is named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CausesOf {
    /// Condition: its vendor is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vendors: Vec<String>,
    /// Condition: it does not offer this flag of /proc/cpuinfo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_flag: Option<String>,
    /// Condition: this bit of CPUID is set, of EAX of a leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eax_bit: Option<LeafBit>,
    /// Words that switch it off or weaken it, beside those of every CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off_words: Vec<String>,
    /// Options without which the kernel has no code for it, in place of those of every CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_code: Vec<String>,
    /// Flags of /proc/cpuinfo of which the kernel needs one to mitigate it by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_flags: Vec<String>,
    /// Vectors against which this CPU is safe by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub safe: Vec<AttackVector>,
    /// Who says so.
    pub source: String,
}

/// A bit of EAX of a leaf of CPUID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeafBit {
    /// The leaf.
    pub leaf: u32,
    /// The bit.
    pub bit: u32,
}

/// A mitigation by software that the kernel does not choose by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// The word of the command line.
    pub word: String,
    /// Vendors of CPUs for which the kernel takes it.
    pub vendors: Vec<String>,
    /// Options of the kernel's configuration that it requires.
    pub kernel_options: Vec<String>,
    /// Vulnerability file that must hold a text, and the text.
    pub with: [String; 2],
    /// Who says so.
    pub source: String,
}

impl Causes {
    /// True of an entry that says nothing of causes.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The vectors by which the kernel's code decides.
    pub(crate) fn deciding(&self) -> &[AttackVector] {
        // That sibling threads can use it switches no mitigation on, GDS apart: bugs.c, should_mitigate_vuln.
        let by_table = self.vectors.strip_suffix(&[AttackVector::CrossThread]).unwrap_or(&self.vectors);
        self.vector_code.as_ref().map_or(by_table, |code| &code.any_of)
    }

    /// The options of the kernel's configuration that it names.
    pub(crate) fn kernel_options(&self) -> impl Iterator<Item = &str> {
        let of_software = self.software.iter().flat_map(|software| &software.kernel_options);
        let of_some = self.of.iter().flat_map(|of| &of.kernel_code);
        let own = self.kernel_default.iter().chain(&self.kernel_code).chain(of_some).chain(of_software);
        own.map(String::as_str).chain(ANY_MITIGATION).chain(BUILT_IN_ALONE).chain(["CONFIG_KVM"])
    }
}

/// The vectors by which the kernel's code decides, where these are not those of its table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VectorCode {
    /// It is mitigated while one of these is on.
    pub any_of: Vec<AttackVector>,
    /// Who says so, with the releases.
    pub source: String,
}
