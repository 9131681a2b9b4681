//! CPUID in texts that people paste: `cpuid -r` of Todd Allen, AIDA64 and InstLatx64, a single file of hwloc.
//!
//! `cpuid -r` heads a CPU by `CPU 0:` and writes `0x00000004 0x03: eax=0x.. ebx=0x.. ecx=0x.. edx=0x..`. AIDA64 heads it by
//! `------[ CPUID Registers / Logical CPU #0 ]------`, others by `CPUID Registers (CPU #1):` or `CPU#000 AffMask: 0x1`, or not:
//! leaf 0 begins the next. Lines are `CPUID 00000004: A-B-C-D [SL 03] [L3U: 30 MB]`; older ones have blanks for hyphens, no
//! colon, and number the subleaves by their order alone. Every other line is about something else.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use machine::{CPU_NUMBER_LIMIT, CpuId};
use raw_cpuid::CpuIdResult;

use super::{LINES_MAX, Line, WITH_SUBLEAVES, parse_line};
use crate::root::{self, start_of};

/// The most bytes of a text. AIDA64 writes 3 MB of 384 CPUs, their registers included.
const TEXT_BYTES_MAX: u64 = 8 << 20;
/// Bits of leaf 1 EAX in which two CPUs of a board may differ: the type, of two Pentiums, and the stepping. Intel SDM vol. 2A, CPUID.
const TYPE_STEPPING_MASK: u32 = 0x300f;
/// How far other formats are looked for.
const START_BYTES: usize = 64 << 10;

/// Marks of texts that are none of these, and what they are.
const OTHERS: [(&str, &str); 5] = [
    ("CPU-Z TXT Report", "a report of CPU-Z"),
    ("basic_cpuid[", "a raw dump of libcpuid"),
    ("vendor_id = \"", "the decoded text of cpuid, without -r"),
    ("vendor_id\t:", "/proc/cpuinfo"),
    ("Architecture:", "a report of lscpu (flaws --lscpu reads it)"),
];

/// Why a text gives no answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Longer than any.
    #[error("holds more than {} MiB", TEXT_BYTES_MAX >> 20)]
    TooLong,
    /// Something else.
    #[error("is {0}")]
    Other(&'static str),
    /// A line that looks like an answer and has not its four numbers.
    #[error("line {0}: an answer of CPUID has four numbers of 32 bits; mend the line or remove it")]
    Misread(usize),
    /// A CPU that answers leaf 0 twice or is of another design than the first: two machines in one text.
    #[error("line {0}: a second machine begins; give each a file of its own")]
    SecondMachine(usize),
}

/// The text of a file or pipe.
pub(super) fn text(path: &Path) -> io::Result<Result<String, ReportError>> {
    Ok(match start_of(path, TEXT_BYTES_MAX + 1)?.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(ReportError::Other("UTF-16, not UTF-8")),
        bytes if bytes.contains(&0) => Err(ReportError::Other("no text: it holds zeros")),
        bytes if bytes.len() as u64 > TEXT_BYTES_MAX => Err(ReportError::TooLong),
        bytes => Ok(String::from_utf8_lossy(bytes).into_owned()),
    })
}

/// The answers of each CPU that a text shows.
///
/// # Errors
/// One is damaged, or they are of two machines.
pub(super) fn read(text: &str) -> Result<BTreeMap<CpuId, Vec<Line>>, ReportError> {
    let mut cpus: BTreeMap<CpuId, Vec<Line>> = BTreeMap::new();
    let (mut cpu, mut has_heads, mut design) = (CpuId(0), false, None);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(head) = headed(line) {
            (cpu, has_heads) = (CpuId(head), true);
            continue;
        }
        let Some(answer) = answer(line) else { continue };
        let mut answer = answer.map_err(|Damaged| ReportError::Misread(number))?;
        let has_begun = |cpu| cpus.get(&cpu).is_some_and(|lines| lines.iter().any(|known| known.eax == 0));
        if answer.eax == 0 && has_begun(cpu) {
            if has_heads || cpu.0 + 1 >= CPU_NUMBER_LIMIT {
                return Err(ReportError::SecondMachine(number));
            }
            cpu.0 += 1;
        }
        let of_design = answer.answer.eax & !TYPE_STEPPING_MASK;
        if answer.eax == 1 && *design.get_or_insert(of_design) != of_design {
            return Err(ReportError::SecondMachine(number));
        }
        let lines = cpus.entry(cpu).or_default();
        if lines.len() >= LINES_MAX {
            continue;
        }
        if answer.ecx.is_none() && WITH_SUBLEAVES.iter().any(|(leaf, _)| *leaf == answer.eax) {
            let before = lines.iter().filter(|known| known.eax == answer.eax).count();
            answer.ecx = u32::try_from(before).ok();
        }
        lines.push(answer);
    }
    Ok(cpus)
}

/// What a text without answers is.
pub(super) fn other(text: &str) -> ReportError {
    let start: String = text.chars().take(START_BYTES).collect();
    let other = OTHERS.iter().find(|(mark, _)| start.contains(mark));
    ReportError::Other(other.map_or("no text with answers of CPUID", |(_, name)| name))
}

/// The number of the CPU that a line is the head of.
fn headed(line: &str) -> Option<u32> {
    let after = match line.split_once("CPU #") {
        Some((_, after)) => after,
        None if line == "CPU:" => "0",
        None => line.strip_prefix("CPU#").or_else(|| line.strip_prefix("CPU ")?.strip_suffix(':'))?,
    };
    let digits = after.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|number| *number < CPU_NUMBER_LIMIT)
}

/// A line that looks like an answer and is none.
struct Damaged;

/// The answer that a line holds.
fn answer(line: &str) -> Option<Result<Line, Damaged>> {
    if line.contains("=>") && !line.starts_with('#') {
        return Some(parse_line(line).ok_or(Damaged));
    }
    if let Some((question, registers)) = line.split_once(": eax=") {
        return Some(of_cpuid(question, registers).ok_or(Damaged));
    }
    let rest = line.strip_prefix("CPUID ")?;
    let leaf = rest.get(..LEAF_DIGITS).filter(|leaf| leaf.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    Some(of_aida64(leaf, &rest[LEAF_DIGITS..]).ok_or(Damaged))
}

/// Digits of a leaf and of a register.
const LEAF_DIGITS: usize = 8;

fn of_cpuid(question: &str, registers: &str) -> Option<Line> {
    let mut question = question.split_whitespace();
    let eax = hexadecimal(question.next()?)?;
    let ecx = match question.next() {
        Some(subleaf) => Some(hexadecimal(subleaf)?),
        None => None,
    };
    let mut registers = registers.split_whitespace();
    // A register that was cut off would be a smaller number.
    let is_whole = |digits: &&str| digits.len() == "0x".len() + LEAF_DIGITS;
    let mut next = |name: &str| registers.next()?.strip_prefix(name).filter(is_whole).and_then(hexadecimal);
    let answer = CpuIdResult { eax: next("")?, ebx: next("ebx=")?, ecx: next("ecx=")?, edx: next("edx=")? };
    Some(Line { eax, ecx, answer })
}

fn of_aida64(leaf: &str, rest: &str) -> Option<Line> {
    const SUBLEAF: &str = "[SL ";
    /// Four registers of eight digits, and what stands between them.
    const REGISTERS_BYTES: usize = 4 * 8 + 3;
    let registers = rest.trim_start_matches([' ', '\t', ':']).get(..REGISTERS_BYTES)?;
    let mut registers = registers.split(['-', ' ', '\t']).map(hexadecimal);
    let mut next = || registers.next().flatten();
    let answer = CpuIdResult { eax: next()?, ebx: next()?, ecx: next()?, edx: next()? };
    let ecx = match rest.split_once(SUBLEAF) {
        Some((_, after)) => Some(hexadecimal(after.split_once(']')?.0.trim())?),
        None => None,
    };
    Some(Line { eax: hexadecimal(leaf)?, ecx, answer })
}

fn hexadecimal(text: &str) -> Option<u32> {
    root::hexadecimal(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same two leaves, the second with two subleaves, in every form.
    const FORMS: [&str; 5] = [
        "CPU 3:\n   0x00000000 0x00: eax=0x00000004 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n\
         \x20  0x00000004 0x00: eax=0x00000121 ebx=0x00000001 ecx=0x0000003f edx=0x00000000\r\n\
         \x20  0x00000004 0x01: eax=0x00000122 ebx=0x00000001 ecx=0x0000003f edx=0x00000000\n",
        "AIDA64\n------[ CPUID Registers / Logical CPU #3 ]------\n\nallcpu: Package 0 / Core 1 / Thread 1: Valid, Virtual\n\
         CPUID 00000000: 00000004-756E6547-6C65746E-49656E69 [GenuineIntel]\n\
         CPUID 00000004: 00000121-00000001-0000003F-00000000 [SL 00] [L1D: 32 KB]\n\
         CPUID 00000004: 00000122-00000001-0000003F-00000000 [SL 01] [L1I: 32 KB]\n\
         ------[ MSR Registers / Logical CPU #3 ]------\nMSR 00000017: 0004-0000-0000-0000 [PlatID = 1]\n",
        "CPUID Manufacturer : GenuineIntel\nCPUID Registers (CPU #3):\nCPUID 00000000  \t00000004-756E6547-6C65746E-49656E69\n\
         CPUID 00000004  \t00000121-00000001-0000003F-00000000\nCPUID 00000004  \t00000122-00000001-0000003F-00000000\n",
        "[ Logical CPU #3 ]\nCPUID 00000000 : 00000004 756E6547 6C65746E 49656E69\n\
         CPUID 00000004 : 00000121 00000001 0000003F 00000000\nCPUID 00000004 : 00000122 00000001 0000003F 00000000\n",
        "CPU 3:\n1 0 0 0 0 => 4 756e6547 6c65746e 49656e69\n5 4 0 0 0 => 121 1 3f 0\n5 4 0 1 0 => 122 1 3f 0\n",
    ];

    #[test]
    fn every_form_gives_the_same_answers() {
        for text in FORMS {
            let cpus = read(text).expect(text);
            let found: Vec<_> = cpus[&CpuId(3)]
                .iter()
                .map(|line| (line.eax, line.ecx.unwrap_or(0), line.answer.eax))
                .collect();
            assert_eq!((cpus.len(), found), (1, vec![(0, 0, 4), (4, 0, 0x121), (4, 1, 0x122)]), "{text}");
        }
    }

    #[test]
    fn what_is_no_dump_is_refused_by_its_name_or_its_line() {
        let twice = FORMS[0].repeat(2);
        let signed =
            |head: &str, eax: &str| format!("{head}CPUID 00000001: {eax}-00000000-00000000-00000000\n");
        let another = signed("CPU #0\n", "000906ED") + &signed("", "000A0655");
        for (text, expected) in [
            ("Architecture:  x86_64\n", "is a report of lscpu"),
            ("   vendor_id = \"GenuineIntel\"\n", "without -r"),
            ("", "is no text with answers of CPUID"),
            ("x\nCPUID 00000000: 00000004-756E6547-6C65746E-49656E6\n", "line 2: an answer"),
            ("   0x00000000 0x00: eax=0x100000004 ebx=0x0 ecx=0x0 edx=0x0\n", "line 1: an answer"),
            (twice.as_str(), "line 6: a second machine begins"),
            (another.as_str(), "line 3: a second machine begins"),
        ] {
            let error = crate::Cpuid::of_report(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_or_no_text_is_refused_before_it_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("dump");
        let long = vec![b'x'; 9 << 20];
        for (bytes, expected) in [
            (b"\xff\xfeC\0P\0U\0".as_slice(), "is UTF-16, not UTF-8"),
            (b"CPU 0:\n\0", "is no text: it holds zeros"),
            (&long, "holds more than 8 MiB"),
        ] {
            std::fs::write(&path, bytes).expect("a file");
            assert_eq!(text(&path).expect("readable").expect_err("refused").to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn a_text_that_is_cut_or_spoilt_anywhere_never_panics(form in 0..FORMS.len(), at in 0_usize..400, put in ".{0,6}") {
            let text: String = FORMS[form].chars().take(at).collect();
            let rest: String = FORMS[form].chars().skip(at + 3).collect();
            let _ = read(&text);
            if let Ok(cpus) = read(&format!("{text}{put}{rest}")) {
                prop_assert!(cpus.values().all(|lines| lines.len() <= LINES_MAX));
            }
        }
    }
}
