//! What CPUID says: of the CPU this runs on, or of every CPU of a recorded dump.
//!
//! A dump has one file `puN` per CPU with lines `mask eax ebx ecx edx => eax ebx ecx edx`, hexadecimal; the
//! lowest bits of the mask say which inputs count (bit 0 EAX to bit 3 EDX). The first matching line answers. Texts that people
//! paste become the same lines: `report`.

mod caches;
mod claims;
mod flags;
mod levels;
mod machine_view;
mod report;
mod tlb;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) use claims::caches_cut_by_nodes;
use machine::{CPU_NUMBER_LIMIT, CpuId, Machine};
use raw_cpuid::{CpuIdReader, CpuIdResult};
pub use report::ReportError;

use crate::arch;
use crate::root::{Root, RootError};

/// The most lines kept of one CPU's dump; real ones have fewer than 200.
const LINES_MAX: usize = 4096;

/// The answers of CPUID of one machine.
#[derive(Debug, Clone)]
pub struct Cpuid {
    cpus: BTreeMap<CpuId, Leaves>,
    is_whole: bool,
}

impl Cpuid {
    /// CPUID of the CPU this runs on at the moment; `None` on other architectures.
    pub fn live() -> Option<Self> {
        arch::HAS_CPUID.then(|| Self { cpus: BTreeMap::from([(CpuId(0), Leaves::Live)]), is_whole: false })
    }

    /// A recorded dump in a folder or tarball: `puN` at its top, in its one folder, or in `cpuid` there; else a text of
    /// `cpuid -r`, AIDA64 or InstLatx64.
    ///
    /// # Errors
    /// Nothing there can be read, or it holds no answers.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let root = match Root::open_dump(path) {
            Err(RootError::NotAnArchive { .. }) => return Self::of_report_file(path),
            Err(RootError::Unreadable { .. }) if path == Path::new("-") => return Self::of_report_file(path),
            root => root?,
        };
        let damaged = |reason: String| RootError::Damaged { path: path.to_owned(), reason };
        let mut cpus = BTreeMap::new();
        for number in root.numbers("/", "pu").into_iter().filter(|number| *number < CPU_NUMBER_LIMIT) {
            let name = format!("pu{number}");
            let text = root.read(&name).map_err(|error| damaged(error.to_string()))?;
            let lines = report::read(&text).map_err(|error| damaged(format!("{name}, {error}")))?;
            let lines = lines.into_values().next().unwrap_or_default();
            cpus.insert(CpuId(number), Leaves::Recorded(Arc::new(lines)));
        }
        Self::of_leaves(cpus)
            .ok_or_else(|| damaged("no file puN holds an answer for CPUID leaf 0".to_owned()))
    }

    fn of_report_file(path: &Path) -> Result<Self, RootError> {
        let text = report::text(path).map_err(RootError::unreadable(path))?;
        text.and_then(|text| Self::of_report(&text))
            .map_err(|reason| RootError::NoReport { path: path.to_owned(), reason: reason.to_string() })
    }

    /// The dump in a text that people paste.
    ///
    /// # Errors
    /// It holds no answers, or they are damaged or those of two machines.
    pub fn of_report(text: &str) -> Result<Self, ReportError> {
        let cpus = report::read(text)?;
        if cpus.is_empty() {
            return Err(report::other(text));
        }
        let cpus = cpus.into_iter().map(|(cpu, lines)| (cpu, Leaves::Recorded(Arc::new(lines))));
        Self::of_leaves(cpus.collect()).ok_or(ReportError::Other("no text with an answer to CPUID leaf 0"))
    }

    /// The dump that lies in a recorded machine, as `sidestep capture` puts it there; `None` if there is none, or on the live one.
    pub fn beside(root: &Root) -> Option<Self> {
        if root.is_live() {
            return None;
        }
        let text = |number| Some((number, root.read(&format!("cpuid/pu{number}")).ok()?));
        let texts: Vec<(u32, String)> = root.numbers("cpuid", "pu").into_iter().filter_map(text).collect();
        Self::of_texts(texts.iter().map(|(number, text)| (*number, text.as_str())))
    }

    /// The dump in the texts of its files, by the numbers of the CPUs; `None` if no CPU answers leaf 0.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = (u32, &'a str)>) -> Option<Self> {
        let believed = texts.into_iter().filter(|(number, _)| *number < CPU_NUMBER_LIMIT);
        Self::of_leaves(
            believed.map(|(number, text)| (CpuId(number), Leaves::Recorded(Arc::new(parse(text))))).collect(),
        )
    }

    fn of_leaves(cpus: BTreeMap<CpuId, Leaves>) -> Option<Self> {
        let answers = |leaves: &Leaves| leaves.max_leaf() > 0;
        cpus.values().any(answers).then_some(Self { cpus, is_whole: true })
    }

    /// True if every CPU of the machine answered, not only the one this runs on.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The machine as CPUID alone describes it; of the live machine only the identity, the TLBs and the caches
    /// of one CPU are known.
    pub fn describe(&self) -> Machine {
        machine_view::describe(&self.cpus)
    }

    /// The caches that the first CPU describes, shared out over CPUs by their APIC ids.
    pub(crate) fn caches_by_apic(&self, apics: &BTreeMap<CpuId, u32>) -> Vec<machine::Cache> {
        self.cpus
            .values()
            .next()
            .map(|leaves| machine_view::caches_by_apic(leaves, apics))
            .unwrap_or_default()
    }

    /// The answer of one CPU to a leaf that it says it has.
    pub fn known(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<[u32; 4]> {
        let leaves = self.cpus.get(&cpu)?;
        let result = leaves.get(leaf, subleaf)?;
        Some([result.eax, result.ebx, result.ecx, result.edx])
    }

    /// Whether the first CPU's answers show a flag of /proc/cpuinfo, set or not.
    pub(crate) fn shows_flag(&self, flag: &str) -> bool {
        self.cpus.values().next().is_some_and(|leaves| flags::shows(leaves, flag))
    }
}

/// The dump of the CPU this runs on; the caller pins the thread. Empty on other architectures.
pub(crate) fn dump_live() -> String {
    if arch::HAS_CPUID { dump_lines(&Leaves::Live) } else { String::new() }
}

/// One line of a dump.
#[derive(Debug, Clone)]
struct Line {
    eax: u32,
    /// The subleaf, where the line is about one.
    ecx: Option<u32>,
    answer: CpuIdResult,
}

/// Where the answers of one CPU come from.
#[derive(Debug, Clone)]
enum Leaves {
    Live,
    Recorded(Arc<Vec<Line>>),
}

impl CpuIdReader for Leaves {
    fn cpuid2(&self, eax: u32, ecx: u32) -> CpuIdResult {
        match self {
            Self::Live => arch::cpuid(eax, ecx),
            Self::Recorded(lines) => lines
                .iter()
                .find(|line| line.eax == eax && line.ecx.is_none_or(|subleaf| subleaf == ecx))
                .map_or(CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }, |line| line.answer),
        }
    }
}

impl Leaves {
    /// The highest basic leaf.
    fn max_leaf(&self) -> u32 {
        self.cpuid2(0, 0).eax
    }

    /// A leaf the CPU says it has, with its subleaf; reading beyond the highest gives an unrelated leaf.
    fn get(&self, leaf: u32, subleaf: u32) -> Option<CpuIdResult> {
        const EXTENDED: u32 = 0x8000_0000;
        let highest = self.cpuid2(leaf & EXTENDED, 0).eax;
        let is_there = leaf <= highest && (leaf < EXTENDED || highest >= EXTENDED) && self.was_asked(leaf);
        (is_there && self.may_be_zero(leaf, subleaf)).then(|| self.cpuid2(leaf, subleaf))
    }

    /// False of a subleaf of leaf 7, EAX of which counts them, that a dump leaves out. Others end with the first that is zero.
    fn may_be_zero(&self, leaf: u32, subleaf: u32) -> bool {
        let is_counted = leaf == 7 && subleaf > 0 && subleaf <= self.cpuid2(7, 0).eax;
        match self {
            Self::Recorded(lines) if is_counted => {
                lines.iter().any(|line| line.eax == leaf && line.ecx.is_none_or(|known| known == subleaf))
            }
            _ => true,
        }
    }

    /// False of a leaf that a dump leaves out although the CPU has it: zeros would be made up.
    fn was_asked(&self, leaf: u32) -> bool {
        match self {
            Self::Live => true,
            Self::Recorded(lines) => lines.iter().any(|line| line.eax == leaf),
        }
    }

    /// The twelve letters of leaf 0.
    fn vendor(&self) -> String {
        let answer = self.cpuid2(0, 0);
        let bytes = [answer.ebx, answer.edx, answer.ecx].map(u32::to_le_bytes).concat();
        String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned()
    }

    /// Displayed family, model and stepping. Intel SDM vol. 2A and AMD64 APM vol. 3, CPUID leaf 1.
    fn signature(&self) -> Option<Signature> {
        let eax = self.get(1, 0)?.eax;
        let (base_family, base_model) = (bits(eax, 11, 8), bits(eax, 7, 4));
        let family = if base_family == 0xf { base_family + bits(eax, 27, 20) } else { base_family };
        let has_extended_model = base_family == 0xf || base_family == 6;
        let model = if has_extended_model { bits(eax, 19, 16) << 4 | base_model } else { base_model };
        Some(Signature { family, model, stepping: bits(eax, 3, 0) })
    }

    /// AMD and its licensee share one description of topology and caches.
    fn is_amd(&self) -> bool {
        matches!(self.vendor().as_str(), "AuthenticAMD" | "HygonGenuine")
    }
}

/// Family, model and stepping as displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signature {
    family: u32,
    model: u32,
    stepping: u32,
}

/// Bits `high` to `low` of a register, both included.
fn bits(register: u32, high: u32, low: u32) -> u32 {
    register >> low & (u32::MAX >> (31 - (high - low)))
}

/// The number of bits that `count` different values take.
fn width(count: u32) -> u32 {
    count.max(1).checked_next_power_of_two().map_or(31, u32::trailing_zeros)
}

fn parse(text: &str) -> Vec<Line> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(parse_line).take(LINES_MAX).collect()
}

fn parse_line(line: &str) -> Option<Line> {
    const INPUT_EAX: u32 = 1;
    const INPUT_ECX: u32 = 1 << 2;
    let (question, answer) = line.split_once("=>")?;
    let numbers = |text: &str| -> Option<Vec<u32>> {
        text.split_whitespace().map(|word| u32::from_str_radix(word, 16).ok()).collect()
    };
    let (question, answer) = (numbers(question)?, numbers(answer)?);
    let (&[mask, eax, _, ecx, _], &[a, b, c, d]) = (question.as_slice(), answer.as_slice()) else {
        return None;
    };
    let subleaf = (mask & INPUT_ECX != 0).then_some(ecx);
    (mask & INPUT_EAX != 0).then_some(Line {
        eax,
        ecx: subleaf,
        answer: CpuIdResult { eax: a, ebx: b, ecx: c, edx: d },
    })
}

/// Leaves with subleaves, and how many are asked at most. Intel SDM vol. 2A and AMD64 APM vol. 3, CPUID.
const WITH_SUBLEAVES: [(u32, u32); 14] = [
    (0x4, 16),
    (0x7, 4),
    (0xb, 8),
    (0xd, 64),
    (0xf, 2),
    (0x10, 6),
    (0x12, 8),
    (0x14, 2),
    (0x17, 4),
    (0x18, 16),
    (0x1f, 8),
    (0x8000_001d, 16),
    (0x8000_0020, 4),
    (0x8000_0026, 8),
];
/// Ranges of leaves: basic, of the hypervisor, extended. Each begins with its highest leaf in EAX.
const RANGES: [u32; 3] = [0, 0x4000_0000, 0x8000_0000];
/// No range is longer than this.
const LEAVES_MAX: u32 = 0x80;
/// The processor's serial number: never asked for.
const SERIAL_NUMBER: u32 = 3;

/// The lines of one CPU.
fn dump_lines(reader: &impl CpuIdReader) -> String {
    let mut text = String::from("# mask in_eax in_ebx in_ecx in_edx => eax ebx ecx edx\n");
    for first in RANGES {
        let highest = reader.cpuid2(first, 0).eax;
        if highest < first || highest - first > LEAVES_MAX {
            continue;
        }
        for leaf in (first..=highest).filter(|leaf| *leaf != SERIAL_NUMBER) {
            match WITH_SUBLEAVES.iter().find(|(with, _)| *with == leaf) {
                None => text.push_str(&line(1, leaf, 0, reader.cpuid2(leaf, 0))),
                Some((_, count)) => {
                    for subleaf in 0..*count {
                        let answer = reader.cpuid2(leaf, subleaf);
                        let is_empty = [answer.eax, answer.ebx, answer.ecx, answer.edx] == [0; 4];
                        if subleaf == 0 || !is_empty {
                            text.push_str(&line(5, leaf, subleaf, answer));
                        }
                    }
                }
            }
        }
    }
    text
}

fn line(mask: u32, leaf: u32, subleaf: u32, answer: CpuIdResult) -> String {
    let CpuIdResult { eax, ebx, ecx, edx } = answer;
    format!("{mask:x} {leaf:x} 0 {subleaf:x} 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_number_that_is_too_large_is_an_error_with_its_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |text: &str| std::fs::write(folder.path().join("pu0"), text).expect("a file");
        write("# mask => out\n1 0 0 0 0 => 4 756e6547 6c65746e 49656e69\n1 4 0 0 0 => 1c0041210 1 2 3\n");
        let error = Cpuid::open(folder.path()).expect_err("nine digits").to_string();
        assert!(error.contains("pu0, line 3"), "{error}");
    }

    #[test]
    fn a_leaf_that_a_dump_leaves_out_is_not_zero() {
        let text = "1 0 0 0 0 => 7 68747541 444d4163 69746e65\n1 80000000 0 0 0 => 80000021 0 0 0\n\
                    1 80000001 0 0 0 => 0 0 4 0\n";
        let dump = Cpuid::of_texts([(0, text)]).expect("leaf 0 answers");
        assert_eq!(dump.known(CpuId(0), 0x8000_0008, 0), None);
        assert_eq!(dump.known(CpuId(0), 0x8000_0001, 0), Some([0, 0, 4, 0]));
        assert!(dump.shows_flag("svm") && !dump.shows_flag("avx2") && !dump.shows_flag("v_vmsave_vmload"));
    }

    #[test]
    fn what_a_dump_leaves_out_of_a_cpu_is_unknown_and_said() {
        let intel = "1 0 0 0 0 => d 756e6547 6c65746e 49656e69\n";
        let leaf_1 =
            |apic: u32| format!("1 1 0 0 0 => 506e3 {:x} 0 10000000\n", apic << 24 | 8 << 16 | 0x800);
        let dump = |texts: &[String]| {
            let texts = (0..).zip(texts.iter().map(String::as_str));
            Cpuid::of_texts(texts).expect("leaf 0 answers").describe()
        };
        let alone = dump(&[intel.to_owned()]);
        let said = alone.missing.join("; ");
        assert!(said.contains("leaf 1H (signature") && said.contains("leaf 80000000H"), "{said}");
        // Without leaf 4 eight CPUs of a package are no threads of one core.
        let all: Vec<String> = (0..8).map(|apic| format!("{intel}{}", leaf_1(apic))).collect();
        let machine = dump(&all);
        assert_eq!((machine.topology.cores.len(), machine.topology.packages().len()), (8, 1));
        assert!(machine.missing.iter().any(|one| one.contains("leaf 4H (which CPUs are threads")));
        let one_silent = [all[0].clone(), intel.to_owned()];
        let machine = dump(&one_silent);
        assert_eq!(machine.topology.cpus.len(), 1);
        assert!(machine.missing.iter().any(|one| one.contains("no answer to leaf 1 from CPUs 1")));
        let dump =
            Cpuid::of_texts([(0, format!("{intel}5 7 0 0 0 => 2 0 0 0\n5 7 0 2 0 => 0 0 0 1\n").as_str())]);
        let dump = dump.expect("leaf 0 answers");
        let known = [0, 1, 2, 3].map(|subleaf| dump.known(CpuId(0), 7, subleaf).is_some());
        assert_eq!(known, [true, false, true, true], "a third is none by the count of leaf 7");
    }

    #[test]
    fn a_line_answers_for_the_inputs_its_mask_names() {
        let text =
            "# mask in => out\n1 80000007 0 0 0 => 0 0 0 100\n5 4 0 3 0 => 3c07c163 4c0003f 3fff 6\nbroken\n";
        let leaves = Leaves::Recorded(Arc::new(parse(text)));
        assert_eq!(leaves.cpuid2(0x8000_0007, 9).edx, 0x100);
        assert_eq!(leaves.cpuid2(4, 3).eax, 0x3c07_c163);
        assert_eq!(leaves.cpuid2(4, 2).eax, 0);
    }

    #[test]
    fn widths_hold_as_many_values_as_there_are() {
        for (count, expected) in [(0, 0), (1, 0), (2, 1), (3, 2), (6, 3), (8, 3), (u32::MAX, 31)] {
            assert_eq!(width(count), expected, "{count}");
        }
        assert_eq!(bits(0xffff_ffff, 31, 0), u32::MAX);
        assert_eq!(bits(0x0000_0f10, 11, 8), 0xf);
    }

    #[test]
    fn a_dump_of_a_dump_says_the_same() {
        let first = "1 0 0 0 0 => 4 756e6547 6c65746e 49656e69\n1 1 0 0 0 => 906ed 1 2 3\n5 4 0 0 0 => 121 1 3f 0\n\
                     5 4 0 1 0 => 122 1 3f 0\n1 80000000 0 0 0 => 80000001 0 0 0\n1 80000001 0 0 0 => 0 0 21 2c\n";
        let leaves = Leaves::Recorded(Arc::new(parse(first)));
        let again = Leaves::Recorded(Arc::new(parse(&dump_lines(&leaves))));
        for (leaf, subleaf) in [(0, 0), (1, 0), (4, 0), (4, 1), (4, 2), (0x8000_0001, 0)] {
            assert_eq!(leaves.cpuid2(leaf, subleaf), again.cpuid2(leaf, subleaf), "{leaf:x}.{subleaf}");
        }
        assert!(!dump_lines(&leaves).contains("\n1 3 "), "no serial number");
    }
}
