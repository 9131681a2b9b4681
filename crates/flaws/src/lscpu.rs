//! What people paste of a machine, as evidence: what it says of the CPU and of vulnerabilities, a report for each machine in it.
//!
//! Names of vulnerabilities, vendors and flags are never translated. How a text becomes keys and values: `pasted.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use machine::ArmSignature;
use record::{CpuSignature, FlawEvidence, MachineShape, Reading};

use crate::pasted::{Form, Key, OTHER_ARCHITECTURES, Pair, pairs};
use crate::wording::sysfs_form;

/// The most machines of one text.
const REPORTS_MAX: usize = 1000;
/// The most kinds of CPUs of one machine: no machine has a tenth of it.
const KINDS_MAX: usize = 64;
/// What stands once in a report of lscpu.
const ONCE: [&str; 3] = ["Architecture", "CPU(s)", "Vendor ID"];
/// What names a CPU, in lscpu and in /proc/cpuinfo of x86.
const NAMING: [&str; 4] = ["Vendor ID", "CPU family", "Model", "Stepping"];
/// A flag that every 64-bit CPU of x86 has had since 2008, behind the first half of the line: a line without it may have lost its end.
/// Linux, arch/x86/include/asm/cpufeatures.h, word 6.
const LATE_FLAG: &str = "lahf_lm";
/// The flags whose absence says something.
static ASKED_FLAGS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let asked = crate::catalogue().registers();
    asked.flags.into_iter().chain(asked.kernel_flags).collect()
});

/// What a report says.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// As far as flaws go.
    pub evidence: FlawEvidence,
}

/// Why a text, or a part of it, is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Not one known key.
    #[error("no line of lscpu, /proc/cpuinfo or a vulnerability file is in it")]
    NoReport,
    /// It has such lines, and none says which CPU it is.
    #[error("it does not say which CPU it is")]
    NoCpu,
    /// More machines, or kinds of CPUs of one, than anybody pastes.
    #[error("it has more than {REPORTS_MAX} machines, or a machine more than {KINDS_MAX} kinds of CPUs")]
    TooMany,
}

/// Fields of a CPU, or of CPUs that are alike.
type Fields = BTreeMap<&'static str, String>;

/// A report in the making.
#[derive(Debug, Default)]
struct Draft {
    /// Kinds of CPUs by form: of lscpu, where what is said of the whole machine stands with the first, and of /proc/cpuinfo.
    units: [Vec<Fields>; 2],
    processors: BTreeSet<String>,
    /// Texts of vulnerabilities by file, as lscpu and as the kernel names them.
    vulnerabilities: [BTreeMap<String, String>; 2],
    torn: BTreeSet<String>,
    torn_bugs: BTreeSet<String>,
    is_cut: bool,
}

impl Report {
    /// Reads a text: a report for each machine in it, and never none; `files` are the names of vulnerability files that the catalogue
    /// knows.
    pub fn parse(text: &str, files: &BTreeSet<&str>) -> Vec<Result<Self, ReportError>> {
        let mut drafts = vec![Draft::default()];
        for pair in pairs(text, files) {
            let last = drafts.last_mut().expect("one is there from the beginning");
            if let Some(next) = last.next_machine(&pair) {
                drafts.push(next);
            }
            let last = drafts.last_mut().expect("one is there from the beginning");
            last.take(pair);
            if last.fields().count() > KINDS_MAX || drafts.len() > REPORTS_MAX {
                return vec![Err(ReportError::TooMany)];
            }
        }
        // A single word, as other programs say one of the architecture, is no machine beside one.
        let is_one =
            |draft: &Draft| draft.has_vulnerabilities() || draft.fields().map(Fields::len).sum::<usize>() > 1;
        if drafts.iter().any(is_one) {
            drafts.retain(is_one);
        }
        drafts.into_iter().map(Draft::report).collect()
    }

    /// `family-model-stepping` in decimal; `other` where the CPU has no such numbers.
    pub fn signature(&self) -> String {
        match self.evidence.cpus.first().map(|cpu| (cpu.family, cpu.model, cpu.stepping)) {
            Some((Some(family), Some(model), Some(stepping))) => format!("{family}-{model}-{stepping}"),
            _ => "other".to_owned(),
        }
    }
}

impl Draft {
    /// The next machine, if the pair cannot be of this one.
    fn next_machine(&mut self, pair: &Pair) -> Option<Self> {
        let value = &pair.value;
        let (field, form) = match &pair.key {
            &Key::Vulnerability(ref file, form) => {
                let is_other = |before: &String| {
                    before != value && sysfs_form(before).is_some() && sysfs_form(value).is_some()
                };
                let [same, other] = [form as usize, 1 - form as usize]
                    .map(|form| self.vulnerabilities[form].get(file).is_some_and(is_other));
                return if same { Some(Self::default()) } else { other.then(|| self.split(form)) };
            }
            Key::Field("processor", _) => return self.processors.contains(value).then(Self::default),
            &Key::Field(field, form) => (field, form),
        };
        let has = |unit: &Fields| unit.contains_key(field);
        let is_again = form == Form::Lscpu && ONCE.contains(&field) && self.units[0].iter().any(has);
        let before = self.units[form as usize].last().and_then(|unit| unit.get(field));
        if is_again || NAMING.contains(&field) && before.is_some_and(|before| before != value) {
            return Some(Self::default());
        }
        let other = &self.units[1 - form as usize];
        let is_same = |unit: &Fields| unit.get(field).is_none_or(|other| other == value);
        if !NAMING.contains(&field) || other.is_empty() || other.iter().any(is_same) {
            return None;
        }
        let mut next = Self::default();
        next.units[form as usize] = std::mem::take(&mut self.units[form as usize]);
        Some(next)
    }

    /// What this form has said so far is of the machine that it names now.
    fn split(&mut self, form: Form) -> Self {
        let mut next = Self { torn: self.torn.clone(), is_cut: self.is_cut, ..Self::default() };
        next.vulnerabilities[form as usize] = std::mem::take(&mut self.vulnerabilities[form as usize]);
        if form == Form::Lscpu {
            next.units[form as usize] = std::mem::take(&mut self.units[form as usize]);
        }
        next
    }

    fn has_vulnerabilities(&self) -> bool {
        self.vulnerabilities.iter().any(|files| !files.is_empty())
    }

    fn take(&mut self, Pair { key, value, torn, is_cut, .. }: Pair) {
        self.is_cut |= is_cut;
        let (field, form) = match key {
            Key::Vulnerability(file, form) => {
                self.vulnerabilities[form as usize].entry(file).or_insert(value);
                return;
            }
            Key::Field(field, form) => (field, form),
        };
        if field == "bugs" { &mut self.torn_bugs } else { &mut self.torn }.extend(torn);
        let units = &mut self.units[form as usize];
        let begins = match form {
            Form::Lscpu => field == "Model name",
            Form::Cpuinfo => field == "processor" || field == "Vendor ID",
        };
        if units.last().is_none_or(|last| begins && last.contains_key(field)) {
            // CPUs that are alike are one kind.
            if let Some(mut last) = units.pop() {
                last.remove("processor");
                if !units.contains(&last) {
                    units.push(last);
                }
            }
            units.push(Fields::new());
        }
        if field == "processor" {
            self.processors.insert(value.clone());
        }
        units.last_mut().expect("one was pushed").entry(field).or_insert(value);
    }

    fn fields(&self) -> impl Iterator<Item = &Fields> {
        self.units.iter().flatten()
    }

    fn get(&self, field: &str) -> Option<&str> {
        self.fields().find_map(|unit| unit.get(field)).map(String::as_str)
    }

    fn report(self) -> Result<Report, ReportError> {
        if !self.has_vulnerabilities() && self.fields().all(Fields::is_empty) {
            return Err(ReportError::NoReport);
        }
        let cpus = self.signatures();
        let is_arm = cpus.iter().any(|cpu| cpu.arm.is_some());
        let other_architecture = self.other_architecture().or_else(|| is_arm.then(|| "aarch64".to_owned()));
        let is_named = !cpus.is_empty() || (other_architecture.is_some() && self.get("Model name").is_some());
        if !is_named && !self.has_vulnerabilities() {
            return Err(ReportError::NoCpu);
        }
        let words = |field| self.get(field).into_iter().flat_map(str::split_whitespace).map(str::to_owned);
        let flags: BTreeSet<String> = words("Flags").collect();
        let is_guest = flags.contains("hypervisor") || self.torn.contains("hypervisor");
        let hypervisor = self.get("Hypervisor vendor").or_else(|| is_guest.then_some("unknown"));
        let readings = self.vulnerabilities.iter().flatten();
        let readings = readings.map(|(file, text)| (file.clone(), Reading::Is(text.clone())));
        let has_late = flags.contains(LATE_FLAG) || self.torn.contains(LATE_FLAG);
        let is_cut = self.is_cut || flags.contains("fpu") && !has_late;
        // The catalogue is read for it only then.
        let asked = is_cut.then(|| ASKED_FLAGS.iter()).into_iter().flatten();
        let lost = asked.filter(|flag| !flags.contains(*flag));
        let flags_unreported: BTreeSet<&String> = self.torn.iter().chain(lost).collect();
        let evidence = FlawEvidence {
            shape: self.shape(&cpus),
            cpus,
            other_architecture,
            hypervisor: hypervisor.map(str::to_owned),
            vulnerabilities: self.has_vulnerabilities().then(|| readings.collect()),
            // The kernel's list only accuses: a word that may be in it counts.
            bugs: self.get("bugs").map(|_| words("bugs").chain(self.torn_bugs.iter().cloned()).collect()),
            flags_unreported: flags_unreported.into_iter().cloned().collect(),
            flags: flags.into_iter().collect(),
            ..FlawEvidence::default()
        };
        Ok(Report { evidence })
    }

    /// Who the CPUs are, each kind once: /proc/cpuinfo knows more than lscpu.
    fn signatures(&self) -> Vec<CpuSignature> {
        let [lscpu, cpuinfo] = &self.units;
        let vendor = lscpu.iter().find_map(|unit| unit.get("Vendor ID"));
        let of = |units: &[Fields]| {
            let all = units.iter().filter_map(|unit| signature(unit, vendor));
            all.fold(Vec::new(), |mut kinds, cpu| {
                kinds.extend((!kinds.contains(&cpu)).then_some(cpu));
                kinds
            })
        };
        Some(of(cpuinfo)).filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| of(lscpu))
    }

    fn other_architecture(&self) -> Option<String> {
        let is_other = |name: &&str| OTHER_ARCHITECTURES.iter().any(|other| name.starts_with(other));
        // Keys that lscpu has as well are called as there.
        let field = |key: &str| self.get(if key == "vendor_id" { "Vendor ID" } else { key });
        let by_cpu = || machine::architecture_of_cpuinfo(field);
        self.get("Architecture").filter(is_other).or_else(by_cpu).map(str::to_owned)
    }

    fn shape(&self, cpus: &[CpuSignature]) -> MachineShape {
        let number = |field| self.get(field).and_then(|value| value.parse::<u32>().ok());
        let threads = || number("siblings")?.checked_div(number("cpu cores")?);
        let kinds = cpus.iter().filter(|cpu| cpu.arm.is_some()).count();
        MachineShape {
            cpus: number("CPU(s)").unwrap_or(0),
            packages: number("Socket(s)").unwrap_or(0),
            nodes: number("NUMA node(s)").unwrap_or(0),
            threads_per_core: number("Thread(s) per core").or_else(threads).unwrap_or(0),
            core_kinds: if kinds > 1 { u32::try_from(kinds).unwrap_or(0) } else { 0 },
            ..MachineShape::default()
        }
    }
}

/// Who a CPU is, if its fields say anything of it; `vendor` is that of the machine.
fn signature(unit: &Fields, vendor: Option<&String>) -> Option<CpuSignature> {
    let number = |field| unit.get(field)?.parse::<u32>().ok();
    let hexadecimal = |field| {
        let value = unit.get(field)?;
        u64::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16).ok()
    };
    let vendor = unit.get("Vendor ID").or(vendor);
    let of_cpuinfo = || {
        Some(ArmSignature {
            implementer: hexadecimal("CPU implementer")?.try_into().ok()?,
            part: hexadecimal("CPU part")?.try_into().ok()?,
            variant: hexadecimal("CPU variant")?.try_into().ok()?,
            revision: number("CPU revision")?.try_into().ok()?,
            repairs: None,
        })
    };
    if let Some(arm) = arm(unit, vendor).or_else(of_cpuinfo) {
        return Some(CpuSignature { arm: Some(arm), ..CpuSignature::default() });
    }
    let cpu = CpuSignature {
        vendor: vendor.cloned(),
        family: number("CPU family"),
        model: number("Model"),
        stepping: number("Stepping"),
        microcode: hexadecimal("Microcode version"),
        arm: None,
        one_of: Vec::new(),
    };
    (cpu.vendor.is_some() || cpu.family.is_some() && cpu.model.is_some()).then_some(cpu)
}

/// An Arm CPU by the names of lscpu, whose stepping is `r0p1`, or the variant where the maker is not Arm: the revision is the model
/// then. util-linux, sys-utils/lscpu-arm.c, arm_rXpY_decode.
fn arm(unit: &Fields, vendor: Option<&String>) -> Option<ArmSignature> {
    let stepping = unit.get("Stepping")?;
    let (variant, revision) = match stepping.strip_prefix('r') {
        Some(both) => both.split_once('p')?,
        None => (stepping.strip_prefix("0x")?, unit.get("Model")?.as_str()),
    };
    let (implementer, part) = machine::arm_part(vendor?, unit.get("Model name")?)?;
    let (variant, revision) = (variant.parse().ok()?, revision.parse().ok()?);
    Some(ArmSignature { implementer, part, variant, revision, repairs: None })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files() -> BTreeSet<&'static str> {
        ["itlb_multihit", "mds"].into()
    }

    fn one(text: &str) -> Result<Report, ReportError> {
        let mut reports = Report::parse(text, &files());
        assert_eq!(reports.len(), 1, "{text}");
        reports.remove(0)
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
        let expected = one(old).expect("a report");
        assert_eq!(expected.signature(), "6-158-13");
        assert_eq!(expected.evidence.flags, ["avx2", "fpu", "vme"]);
        for text in [new, french, chinese] {
            assert_eq!(one(text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn other_architectures_and_broken_texts_are_distinguished() {
        let arm = "Architecture: aarch64\nVendor ID: ARM\nModel: 3\nStepping: r0p3\nSocket(s): -\nVulnerability Mds: Not affected\n";
        let report = one(arm).expect("a report");
        assert_eq!(report.signature(), "other");
        assert_eq!(report.evidence.other_architecture.as_deref(), Some("aarch64"));
        assert_eq!(report.evidence.shape.packages, 0);
        assert_eq!(one(""), Err(ReportError::NoReport));
        assert_eq!(one("\u{0}\u{1}garbage"), Err(ReportError::NoReport));
        assert_eq!(one("CPU(s): 4\n"), Err(ReportError::NoCpu));
    }

    proptest! {
        #[test]
        fn any_text_is_a_report_or_an_error(text in "(\\PC|\n|: ){0,200}") {
            let _ = Report::parse(&text, &files());
        }
    }
}
