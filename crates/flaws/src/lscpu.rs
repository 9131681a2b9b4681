//! Text of `lscpu`, of any version and in many languages, as evidence: what it says of the CPU and of vulnerabilities.
//!
//! Names of vulnerabilities, vendors and flags are never translated; the other keys are looked up in the words that
//! util-linux 2.38.1 uses.

use std::collections::{BTreeMap, BTreeSet};

use record::{CpuSignature, FlawEvidence, MachineShape, Reading};

/// Vendor strings of x86 CPUs, by which the vendor's line is known in any language.
const VENDORS: [&str; 6] =
    ["GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "Shanghai", "VIA VIA VIA"];

/// How `lscpu` begins the names of architectures that are not x86; the names are never translated. Linux, UTS_MACHINE.
const OTHER_ARCHITECTURES: [&str; 10] =
    ["aarch64", "arm", "ppc", "s390", "riscv", "mips", "loongarch", "ia64", "sparc", "alpha"];

/// The keys that bear on flaws, in every language of util-linux 2.38.1 (message catalogues, msgid in English): a paragraph each,
/// English first.
const KEYS: &str = include_str!("lscpu-keys.txt");

/// The English name of a key in any language, if it matters here.
fn english(key: &str) -> Option<&'static str> {
    let key = key.trim_end_matches('\u{a0}');
    KEYS.split("\n\n").find(|names| names.lines().any(|name| name == key))?.lines().next()
}

/// What a report says.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// As far as flaws go.
    pub evidence: FlawEvidence,
}

/// Why a text is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Not one known key.
    #[error("no line of lscpu is in it")]
    NoReport,
    /// It has lines of lscpu, and none says which CPU it is.
    #[error("it does not say which CPU it is")]
    NoCpu,
}

impl Report {
    /// Reads a text; `files` are the names of vulnerability files that the catalogue knows.
    ///
    /// # Errors
    /// It holds nothing of `lscpu`, or nothing of the CPU.
    pub fn parse(text: &str, files: &BTreeSet<&str>) -> Result<Self, ReportError> {
        let mut values: BTreeMap<&str, &str> = BTreeMap::new();
        let mut vulnerabilities = BTreeMap::new();
        let mut vendor = None;
        let mut other_architecture = None;
        let mut flags: Vec<String> = Vec::new();
        for line in text.lines() {
            let Some((key, value)) = line.split_once([':', '：']) else { continue };
            let (key, value) = (key.trim(), value.trim());
            // It is the first line of a report, whatever its key is called.
            if values.is_empty() && OTHER_ARCHITECTURES.iter().any(|name| value.starts_with(name)) {
                other_architecture.get_or_insert_with(|| value.to_owned());
            }
            if VENDORS.contains(&value) {
                vendor.get_or_insert_with(|| value.to_owned());
            } else if is_flags(value) && flags.is_empty() {
                flags = value.split_whitespace().map(str::to_owned).collect();
            } else if let Some(file) = vulnerability(key, files) {
                vulnerabilities.entry(file).or_insert_with(|| Reading::Is(value.to_owned()));
            } else if let Some(key) = english(key)
                && !value.is_empty()
            {
                values.entry(key).or_insert(value);
            }
        }
        flags.sort();
        if values.is_empty() && vulnerabilities.is_empty() && vendor.is_none() && flags.is_empty() {
            return Err(ReportError::NoReport);
        }
        let number = |key: &str| values.get(key).and_then(|value| value.parse().ok());
        let vendor = vendor.or_else(|| values.get("Vendor ID").map(|value| (*value).to_owned()));
        let cpu = CpuSignature {
            vendor,
            family: number("CPU family"),
            model: number("Model"),
            stepping: number("Stepping"),
            ..CpuSignature::default()
        };
        if cpu.vendor.is_none() && cpu.family.is_none() && cpu.model.is_none() && vulnerabilities.is_empty() {
            return Err(ReportError::NoCpu);
        }
        let hypervisor = values.get("Hypervisor vendor").map(|value| (*value).to_owned());
        let evidence = FlawEvidence {
            cpus: vec![cpu],
            other_architecture,
            hypervisor: hypervisor
                .or_else(|| flags.contains(&"hypervisor".to_owned()).then(|| "unknown".into())),
            vulnerabilities: (!vulnerabilities.is_empty()).then_some(vulnerabilities),
            shape: MachineShape {
                cpus: number("CPU(s)").unwrap_or(0),
                packages: number("Socket(s)").unwrap_or(0),
                nodes: number("NUMA node(s)").unwrap_or(0),
                threads_per_core: number("Thread(s) per core").unwrap_or(0),
                ..MachineShape::default()
            },
            flags,
            ..FlawEvidence::default()
        };
        Ok(Self { evidence })
    }

    /// `family-model-stepping` in decimal; `other` where the CPU has no such numbers.
    pub fn signature(&self) -> String {
        let cpu = &self.evidence.cpus[0];
        match (cpu.family, cpu.model, cpu.stepping) {
            (Some(family), Some(model), Some(stepping)) => format!("{family}-{model}-{stepping}"),
            _ => "other".to_owned(),
        }
    }
}

/// True for the flags of an x86 CPU, in whatever language their key is.
fn is_flags(value: &str) -> bool {
    let mut words = value.split_whitespace();
    words.next() == Some("fpu") && words.next().is_some()
}

/// The file of a vulnerability's line: `Vulnerability Itlb multihit`, or `Itlb multihit` below a heading.
fn vulnerability(key: &str, files: &BTreeSet<&str>) -> Option<String> {
    let named = key.strip_prefix("Vulnerability ");
    let file = named.unwrap_or(key).to_lowercase().replace(' ', "_");
    (named.is_some() || files.contains(file.as_str())).then_some(file)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files() -> BTreeSet<&'static str> {
        ["itlb_multihit", "mds"].into()
    }

    #[test]
    fn reports_of_old_new_and_translated_versions_say_the_same() {
        let old = "CPU(s): 8\nVendor ID: GenuineIntel\nCPU family: 6\nModel: 158\nStepping: 13\n\
                   Vulnerability Mds: Mitigation; Clear CPU buffers; SMT vulnerable\nFlags: fpu vme avx2\n";
        let new = "CPU(s):          8\n  On-line CPU(s) list: 0-7\nVendor ID: GenuineIntel\n  Model name: X\n    CPU family: 6\n    \
                   Model: 158\n    Stepping: 13\n    Flags: fpu vme avx2\nVulnerabilities:          \n  \
                   Mds: Mitigation; Clear CPU buffers; SMT vulnerable\n";
        let french = "Processeur(s)\u{a0}: 8\nIdentifiant constructeur\u{a0}: GenuineIntel\nFamille de processeur\u{a0}: 6\n\
                      Modèle\u{a0}: 158\nRévision\u{a0}: 13\nDrapeaux\u{a0}: fpu vme avx2\n\
                      Vulnerability Mds: Mitigation; Clear CPU buffers; SMT vulnerable\n";
        let chinese = "厂商 ID： GenuineIntel\nCPU 系列： 6\n型号： 158\n步进： 13\n标记： fpu vme avx2\nCPU: 8\n\
                       Mds: Mitigation; Clear CPU buffers; SMT vulnerable\n";
        let expected = Report::parse(old, &files()).expect("a report");
        assert_eq!(expected.signature(), "6-158-13");
        assert_eq!(expected.evidence.flags, ["avx2", "fpu", "vme"]);
        for text in [new, french, chinese] {
            assert_eq!(Report::parse(text, &files()).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn other_architectures_and_broken_texts_are_distinguished() {
        let arm = "Architecture: aarch64\nVendor ID: ARM\nModel: 3\nStepping: r0p3\nSocket(s): -\nVulnerability Mds: Not affected\n";
        let report = Report::parse(arm, &files()).expect("a report");
        assert_eq!(report.signature(), "other");
        assert_eq!(report.evidence.other_architecture.as_deref(), Some("aarch64"));
        assert_eq!(report.evidence.shape.packages, 0);
        assert_eq!(Report::parse("", &files()), Err(ReportError::NoReport));
        assert_eq!(Report::parse("\u{0}\u{1}garbage", &files()), Err(ReportError::NoReport));
        assert_eq!(Report::parse("CPU(s): 4\n", &files()), Err(ReportError::NoCpu));
    }

    proptest! {
        #[test]
        fn any_text_is_a_report_or_an_error(text in "(\\PC|\n|: ){0,200}") {
            let _ = Report::parse(&text, &files());
        }
    }
}
