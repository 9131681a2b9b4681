//! Every wording that the kernel has, in every form that people paste: all say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proptest::prelude::*;
use record::{FlawEvidence, Protection, Reading};

use crate::kernel::kernel;
use crate::lscpu::{Report, ReportError};
use crate::wording::known_texts;

/// Columns of labels of lscpu.
const LABEL: usize = 29;
const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities/";
const HEAD: [(&str, &str); 5] = [
    ("Architecture", "x86_64"),
    ("Vendor ID", "GenuineIntel"),
    ("CPU family", "6"),
    ("Model", "85"),
    ("Stepping", "7"),
];
const FLAGS: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall \
                     nx pdpe1gb rdtscp lm rep_good nopl cpuid ssse3 fma cx16 avx2 bmi1 invpcid rtm ibrs ibpb stibp md_clear ssbd \
                     hypervisor";

/// As lscpu spells it: util-linux, sys-utils/lscpu-cputype.c.
fn by_lscpu(text: &str) -> String {
    match text.strip_prefix("Mitigation:") {
        Some(rest) => format!("Mitigation;{}", rest.replace(':', "")),
        None => text.to_owned(),
    }
}

fn name(file: &str) -> String {
    let mut name = file.replace('_', " ");
    name[..1].make_ascii_uppercase();
    name
}

/// A row of lscpu in a terminal of so many columns.
fn row(text: &mut String, label: &str, value: &str, columns: usize, keeps_blanks: bool) {
    let letters: Vec<char> = value.chars().collect();
    for (index, piece) in letters.chunks(columns - LABEL).enumerate() {
        let label = if index == 0 { format!("{label}:") } else { String::new() };
        let line = format!("{label:LABEL$}{}", piece.iter().collect::<String>());
        let _ = writeln!(text, "{}", if keeps_blanks { line.as_str() } else { line.trim_end() });
    }
}

fn lscpu(files: &BTreeSet<&str>, said: &str, columns: usize, keeps_blanks: bool) -> String {
    let mut text = String::new();
    for (label, value) in HEAD.into_iter().chain([("Flags", FLAGS)]) {
        row(&mut text, label, value, columns, keeps_blanks);
    }
    text.push_str("Vulnerabilities:\n");
    for file in files {
        row(&mut text, &format!("  {}", name(file)), &by_lscpu(said), columns, keeps_blanks);
    }
    text
}

fn lines(text: &str, of: impl Fn(&str) -> String) -> String {
    text.lines().map(of).collect::<Vec<_>>().join("\n")
}

/// JSON of lscpu, nested or flat.
fn json(files: &BTreeSet<&str>, said: &str, is_nested: bool) -> String {
    let field = |label: &str, value: &str| format!("{{\n\"field\": \"{label}:\",\n\"data\": \"{value}\"\n}}");
    let mut rows: Vec<String> =
        HEAD.into_iter().chain([("Flags", FLAGS)]).map(|(label, value)| field(label, value)).collect();
    let below = files.iter().map(|file| field(&name(file), &by_lscpu(said)));
    if is_nested {
        let children = below.collect::<Vec<_>>().join(",");
        rows.push(format!("{{\"field\":\"Vulnerabilities:\",\"data\":null,\"children\":[{children}]}}"));
    } else {
        let flat = files.iter().map(|file| field(&format!("Vulnerability {}", name(file)), &by_lscpu(said)));
        rows.extend(flat);
    }
    format!("{{\"lscpu\": [{}]}}", rows.join(","))
}

/// All forms of a machine whose files all say the same, with their names.
fn forms(files: &BTreeSet<&str>, said: &str) -> Vec<(String, String)> {
    let plain = lscpu(files, said, 4000, true);
    let cpuinfo = format!(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: X\nstepping\t: 7\n\
         flags\t\t: {FLAGS}\n\n"
    );
    let each = |of: &dyn Fn(&str) -> String| files.iter().map(|file| of(file)).collect::<String>();
    let mut forms = vec![
        ("plain", plain.clone()),
        ("CRLF", plain.replace('\n', "\r\n")),
        ("quoted", lines(&lscpu(files, said, 80, false), |line| format!("> {line}"))),
        ("quoted twice", lines(&plain, |line| format!("> > {line}"))),
        ("list", lines(&plain, |line| format!("- {}", line.trim()))),
        ("bullets", lines(&plain, |line| format!("  * {line}"))),
        ("numbers", lines(&plain, |line| format!("12. {}", line.trim()))),
        ("dashes", lines(&plain, |line| format!("– {line}"))),
        ("bold", lines(&plain, |line| line.trim().replacen(':', ":**", 1)).replace('\n', "\n**")),
        ("fence", format!("My machine:\n```\n$ lscpu\n{plain}```\nThanks!\n")),
        ("table", lines(&plain, |line| line.replacen(':', " |", 1))),
        ("without colons", lines(&plain, |line| line.replace(':', ""))),
        ("with a host", lines(&plain, |line| format!("node07: {line}"))),
        ("log", lines(&plain, |line| format!("[   12.345678] {line}"))),
        ("JSON", json(files, said, true)),
        ("flat JSON", json(files, said, false)),
        ("quoted JSON", lines(&json(files, said, true), |line| format!("> {line}"))),
        ("JSON in one line", json(files, said, true).replace('\n', "")),
        ("grep", cpuinfo.clone() + &each(&|file| format!("/{FOLDER}{file}:{said}\n"))),
        ("grep in the folder", cpuinfo.clone() + &each(&|file| format!("{file}:{said}\n"))),
        ("tail", cpuinfo.clone() + &each(&|file| format!("==> /{FOLDER}{file} <==\n{said}\n\n"))),
        ("path, then text", each(&|file| format!("/{FOLDER}{file}\n{said}\n")) + &cpuinfo),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text))
    .collect::<Vec<_>>();
    for columns in [44, 60, 61, 80] {
        for keeps_blanks in [true, false] {
            forms.push((
                format!("{columns} columns, blanks {keeps_blanks}"),
                lscpu(files, said, columns, keeps_blanks),
            ));
        }
    }
    forms
}

#[test]
fn every_known_wording_says_the_same_in_every_form() {
    let flaws = crate::catalogue().flaws;
    let with_file = || flaws.iter().filter(|flaw| flaw.vulnerability_file.is_some());
    let files: BTreeSet<&str> = with_file().filter_map(|flaw| flaw.vulnerability_file.as_deref()).collect();
    for (index, said) in known_texts().iter().enumerate() {
        let all = forms(&files, said);
        // A few forms each, so that all of them meet all kinds of wordings in a short time.
        for (form, text) in all.iter().skip(index % 4).step_by(4) {
            let reports = Report::parse(text, &files);
            let [Ok(report)] = reports.as_slice() else { panic!("{said}, {form}: {reports:?}\n{text}") };
            let read = report.evidence.vulnerabilities.clone().unwrap_or_default();
            let expected: BTreeMap<String, Reading<String>> =
                files.iter().map(|file| ((*file).to_owned(), Reading::Is(said.clone()))).collect();
            assert_eq!(read, expected, "{said}, {form}\n{text}");
            assert_eq!(report.signature(), "6-85-7", "{said}, {form}\n{text}");
        }
        let of = |text: String| FlawEvidence {
            vulnerabilities: Some(
                files.iter().map(|file| ((*file).to_owned(), Reading::Is(text.clone()))).collect(),
            ),
            ..FlawEvidence::default()
        };
        let (sysfs, lscpu) = (of(said.clone()), of(by_lscpu(said)));
        for flaw in with_file() {
            let said = |evidence| {
                let word = kernel(flaw, evidence);
                let statement = word.statement;
                (statement.affected, statement.workaround, statement.protected, word.is_unsure)
            };
            assert_eq!(said(&sysfs), said(&lscpu), "{}: {:?}", flaw.id, sysfs.vulnerabilities);
        }
    }
}

#[test]
fn flags_survive_any_width_or_are_said_to_be_torn() {
    let files = BTreeSet::new();
    let whole: BTreeSet<&str> = FLAGS.split(' ').collect();
    for columns in 40..140 {
        for keeps_blanks in [true, false] {
            let text = lscpu(&files, "", columns, keeps_blanks);
            for text in [text.clone(), lines(&text, |line| line.trim_start().to_owned())] {
                let reports = Report::parse(&text, &files);
                let [Ok(report)] = reports.as_slice() else { panic!("{reports:?}\n{text}") };
                let flags: BTreeSet<&str> = report.evidence.flags.iter().map(String::as_str).collect();
                let torn: BTreeSet<&str> =
                    report.evidence.flags_unreported.iter().map(String::as_str).collect();
                assert!(flags.is_subset(&whole), "{columns}: {:?}\n{text}", flags.difference(&whole));
                let lost: Vec<_> = whole.iter().filter(|flag| !flags.contains(*flag)).collect();
                assert!(
                    lost.iter().all(|flag| torn.contains(*flag)),
                    "{columns}: {lost:?}, {torn:?}\n{text}"
                );
                assert_eq!(report.evidence.hypervisor.as_deref(), Some("unknown"), "{columns}\n{text}");
            }
        }
    }
}

const ONE: &str =
    "Architecture: x86_64\nCPU(s): 4\nVendor ID: GenuineIntel\nCPU family: 6\nModel: 85\nStepping: 7\n";

#[test]
fn texts_with_several_machines_or_none_are_distinguished() {
    let other = ONE.replace("85", "158");
    let cpuinfo = |model: &str| {
        let cpu = format!("vendor_id : GenuineIntel\ncpu family : 6\nmodel : {model}\nstepping : 7\n\n");
        format!("processor : 0\n{cpu}processor : 1\n{cpu}")
    };
    let (first, second) = (cpuinfo("85"), cpuinfo("158"));
    let mds = |text: &str| format!("/{FOLDER}mds:{text}\n");
    let (safe, open) = (mds("Not affected"), mds("Vulnerable; SMT vulnerable"));
    let arm = "Architecture: aarch64\nVendor ID: ARM\nModel name: Cortex-X925\nModel: 1\nStepping: r0p1\nModel name: Cortex-A725\n\
               Model: 0\nStepping: r1p0\n";
    let others = "CPU: Topology: 8-Core\nModel: ATA Disk 860 (scsi)\nArchitecture: amd64\n";
    let hostnamectl = "    Architecture: x86-64\n";
    for (text, expected) in [
        (ONE.to_owned(), vec![Ok("6-85-7")]),
        (format!("{ONE}{ONE}"), vec![Ok("6-85-7"), Ok("6-85-7")]),
        (format!("{ONE}{other}"), vec![Ok("6-85-7"), Ok("6-158-7")]),
        (format!("{ONE}{first}{safe}"), vec![Ok("6-85-7")]),
        (format!("{first}{ONE}{safe}"), vec![Ok("6-85-7")]),
        (format!("{ONE}{second}"), vec![Ok("6-85-7"), Ok("6-158-7")]),
        (format!("{first}{other}"), vec![Ok("6-85-7"), Ok("6-158-7")]),
        (format!("{first}{second}"), vec![Ok("6-85-7"), Ok("6-158-7")]),
        (format!("{ONE}{safe}{open}"), vec![Ok("6-85-7"), Ok("other")]),
        (format!("{ONE}{safe}{safe}"), vec![Ok("6-85-7")]),
        (
            "CPU family: 6\nModel: 85\nStepping: 7\nModel: 97\nCPU family: 25\nStepping: 2\n".to_owned(),
            vec![Ok("6-85-7"), Ok("25-97-2")],
        ),
        (safe.clone(), vec![Ok("other")]),
        (arm.to_owned(), vec![Ok("other")]),
        (format!("{hostnamectl}{ONE}"), vec![Ok("6-85-7")]),
        (hostnamectl.to_owned(), vec![Err(ReportError::NoReport)]),
        (format!("{ONE}{hostnamectl}{others}{safe}"), vec![Ok("6-85-7")]),
        (format!("{hostnamectl}{others}{ONE}{safe}"), vec![Ok("6-85-7")]),
        ("CPU(s): 4\nModel name: X\n".to_owned(), vec![Err(ReportError::NoCpu)]),
        (format!("{ONE}CPU(s): 4\nSocket(s): 1\n"), vec![Ok("6-85-7"), Err(ReportError::NoCpu)]),
        ("A text: of people\n".to_owned(), vec![Err(ReportError::NoReport)]),
        (ONE.repeat(1001), vec![Err(ReportError::TooMany)]),
    ] {
        let reports = Report::parse(&text, &["mds"].into());
        let found: Vec<_> = reports
            .iter()
            .map(|report| report.as_ref().map(Report::signature).map_err(|error| *error))
            .collect();
        let expected: Vec<_> = expected.into_iter().map(|one| one.map(str::to_owned)).collect();
        assert_eq!(found, expected, "{text:.600}");
    }
    let reports = Report::parse(arm, &BTreeSet::new());
    let cpus = &reports[0].as_ref().expect("a report").evidence.cpus;
    let names: Vec<String> = cpus.iter().filter_map(|cpu| cpu.arm).map(|arm| arm.to_string()).collect();
    assert_eq!(names, ["Arm Cortex-X925 r0p1", "Arm Cortex-A725 r1p0"]);
}

#[test]
fn what_is_not_understood_is_kept_as_it_stands() {
    let text =
        format!("{ONE}Mds: Mitigation; Clear CPU buffers; SMT vuln\nTsa: Mitigation; Something\nL1tf:\n");
    let reports = Report::parse(&text, &["mds", "tsa", "l1tf"].into());
    let read = reports[0].as_ref().expect("a report").evidence.vulnerabilities.clone().expect("files");
    let expected = [("mds", "Mitigation; Clear CPU buffers; SMT vuln"), ("tsa", "Mitigation; Something")];
    assert_eq!(read, expected.map(|(file, text)| (file.to_owned(), Reading::Is(text.to_owned()))).into());
}

#[test]
fn monstrous_texts_are_read_in_linear_time_or_refused() {
    const BYTES: usize = 1 << 20;
    let fill = |piece: &str| piece.repeat(BYTES / piece.len());
    let numbered = |of: fn(usize) -> String| (0..BYTES / 32).map(of).collect::<Vec<_>>().concat();
    for text in [
        fill("x"),
        fill("[{\"field\":"),
        fill("{\"field\":\"Model:\",\"data\":\"1\"},"),
        fill("\"field\"\n"),
        fill("\"field\":\"\\"),
        fill("a:\n"),
        fill("> "),
        fill("Mds:\n"),
        format!("Mds: {}", fill("Mitigation: ")),
        format!("Mds: Vulnerable\n{}", fill("; SMT vulnerable\n")),
        format!("Flags: fpu vme\n{}", fill("ab\n")),
        format!("flags : {}", fill("fpu ")),
        fill("processor : 1\n"),
        fill("Model name: X\nModel: 1\n"),
        numbered(|index| format!("processor : {index}\nmodel : {index}\n")),
        numbered(|index| format!("Vulnerability X{index}: Vulnerable\n")),
    ] {
        let reports = Report::parse(&text, &["mds"].into());
        assert!(!reports.is_empty() && reports.len() <= 1000, "{text:.80}");
    }
}

/// The evidence of a text that is one report.
fn evidence(text: &str) -> FlawEvidence {
    let files = ["mds", "tsa", "l1tf", "gather_data_sampling"].into();
    let [Ok(report)] = &Report::parse(text, &files)[..] else { panic!("{text}") };
    report.evidence.clone()
}

#[test]
fn a_flag_behind_the_end_of_a_cut_line_is_unknown() {
    let whole = format!("{FLAGS} lahf_lm arat");
    let is_unknown = |text: &str| {
        let unreported = evidence(text).flags_unreported;
        assert!(!unreported.contains(&"avx2".to_owned()), "{text}");
        unreported.contains(&"xsaves".to_owned())
    };
    let wide = "x".repeat(whole.len() - 5);
    for (text, expected) in [
        (format!("{ONE}Flags: {whole}\n"), false),
        (format!("{ONE}Flags: {whole}\nMds: Not affected"), false),
        (format!("{ONE}Flags: {whole}"), true),
        (format!("{ONE}Flags: {FLAGS}\n"), true),
        (format!("{ONE}Model name: {wide}\nFlags: {whole}\n"), true),
        (format!("{ONE}Model name: {wide}x\nFlags: {whole}\n"), false),
    ] {
        assert_eq!(is_unknown(&text), expected, "{text}");
    }
}

#[test]
fn verdicts_follow_the_kernel_and_not_a_cut() {
    let of = |id: &str, text: &str| {
        let verdicts = crate::judge(&crate::catalogue(), &evidence(text));
        let verdict = verdicts.into_iter().find(|verdict| verdict.id == id).expect("in the catalogue");
        (verdict.protected, crate::unmet(&verdict).is_some())
    };
    let zen = "Vendor ID: AuthenticAMD\nCPU family: 23\nModel: 1\nStepping: 1\nFlags: fpu vme de\n";
    let skylake = ONE.replace("85", "94").replace("Stepping: 7", "Stepping: 3");
    let gds = "Gather data sampling: Vulnerable";
    for (id, text, expected) in [
        ("amd-1386", zen.to_owned(), (Protection::Unknown, false)),
        ("gds", format!("{gds}: No microcode\n"), (Protection::NotProtected, true)),
        ("gds", format!("{skylake}Flags: fpu vme\n{gds}: No micro\n"), (Protection::NotProtected, true)),
        ("mds", format!("{skylake}Mds: Mitigation; Clear CPU buffers\n"), (Protection::Unknown, false)),
        ("mds", format!("{skylake}Mds: Not affected; SMT vulnerable\n"), (Protection::Unknown, false)),
    ] {
        assert_eq!(of(id, &text), expected, "{id}: {text}");
    }
}

#[test]
fn a_torn_flag_is_no_bug() {
    let text = "vendor_id : AuthenticAMD\nflags : fpu vme\nmonitor ds_cpl svm\nbugs : spectre_v1\n";
    let evidence = evidence(text);
    assert_eq!(evidence.bugs, Some(vec!["spectre_v1".to_owned()]));
    assert!(evidence.flags_unreported.contains(&"monitor".to_owned()));
}

#[test]
fn files_of_one_machine_before_the_report_of_another_are_two_machines() {
    let text = format!(
        "/{FOLDER}mds:Mitigation: PTI\n/{FOLDER}l1tf:Not affected\n{ONE}L1tf: Not affected\nMds: Not affected\n"
    );
    let reports = Report::parse(&text, &["mds", "l1tf"].into());
    let [Ok(files), Ok(report)] = &reports[..] else { panic!("{reports:?}") };
    assert!(files.evidence.cpus.is_empty() && report.signature() == "6-85-7");
    assert_eq!(report.evidence.vulnerabilities.as_ref().map(BTreeMap::len), Some(2));
}

proptest! {
    #[test]
    fn any_cut_of_a_report_is_read_and_adds_nothing(at in 0usize..900, columns in 40usize..120) {
        let files = ["mds", "spectre_v2"].into();
        let said = "Mitigation: IBRS; IBPB: conditional; STIBP: disabled; RSB filling";
        let text = lscpu(&files, said, columns, false);
        let end = text.char_indices().map(|(at, _)| at).nth(at).unwrap_or(text.len());
        for report in Report::parse(&text[..end], &files).into_iter().flatten() {
            for (file, text) in report.evidence.vulnerabilities.unwrap_or_default() {
                let Reading::Is(text) = text else { panic!("{file}") };
                // Whole clauses, or a text that no wording has.
                prop_assert!(said.starts_with(&text) || crate::wording::sysfs_form(&text).is_none(), "{}", text);
            }
        }
    }
}
