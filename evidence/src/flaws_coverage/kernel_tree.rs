//! What a kernel tree knows of flaws: names of files and bugs, CPUs that have them, errata of which it speaks.
//!
//! A reader of C by its looks: comments and white space are dropped, macros are found by name. It knows the forms of Linux 6.1
//! to 6.18 and says what it cannot read; no compiler is asked.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, ensure};
use regex::Regex;

use super::cells::{Cell, CellSet};

/// A bug and where it is from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Erratum {
    /// File name without its folder.
    pub(super) file: &'static str,
    /// Its number or code, in the vendor's spelling: `1485`, `AAI65`.
    pub(super) name: String,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct KernelTree {
    /// `VERSION.PATCHLEVEL.SUBLEVEL`.
    pub(super) version: String,
    /// Files below /sys/devices/system/cpu/vulnerabilities.
    pub(super) vulnerability_files: BTreeSet<String>,
    /// Words of the `bugs` line of /proc/cpuinfo, and bugs that have none, by macro in lower case.
    pub(super) bugs: BTreeSet<String>,
    /// CPUs by word of the list of affected ones.
    pub(super) affected: BTreeMap<String, CellSet>,
    /// CPUs by name of an array of AMD's model ranges.
    pub(super) amd_ranges: BTreeMap<String, CellSet>,
    /// Microcode from which on the deadline timer works, by CPU.
    pub(super) deadline: BTreeMap<Cell, u64>,
    /// Errata that the code names.
    pub(super) errata: BTreeSet<Erratum>,
    /// What stands where a known form was expected.
    pub(super) unread: Vec<String>,
}

const AMD: &str = "AuthenticAMD";
const HYGON: &str = "HygonGenuine";
const INTEL: &str = "GenuineIntel";

/// Files with errata, below `arch/x86/kernel`.
const ERRATA_FILES: [(&str, &str); 3] =
    [("cpu/amd.c", "amd.c"), ("cpu/intel.c", "intel.c"), ("apic/apic.c", "apic.c")];

impl KernelTree {
    /// Reads a tree, or as much of one as holds these files.
    ///
    /// # Errors
    /// A file that is missing, or in which nothing of what it must hold was found.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = |path: &str| {
            let path = folder.join(path);
            std::fs::read_to_string(&path).with_context(|| {
                format!("cannot read {}; --linux takes the root of a kernel tree", path.display())
            })
        };
        let x86 = "arch/x86";
        let mut tree = Self { version: version(&text("Makefile")?), ..Self::default() };
        tree.vulnerability_files = vulnerability_files(&text("drivers/base/cpu.c")?);
        tree.bugs = bugs(&text(&format!("{x86}/include/asm/cpufeatures.h"))?);
        let models = intel_models(&text(&format!("{x86}/include/asm/intel-family.h"))?);
        tree.read_affected(&text(&format!("{x86}/kernel/cpu/common.c"))?, &models);
        for (path, name) in ERRATA_FILES {
            let source = text(&format!("{x86}/kernel/{path}"))?;
            tree.errata.extend(errata(name, &source));
            match name {
                "amd.c" => tree.read_amd_ranges(&source),
                "apic.c" => tree.read_deadline(&source, &models),
                _ => {}
            }
        }
        ensure!(!tree.vulnerability_files.is_empty(), "drivers/base/cpu.c names no vulnerability file");
        ensure!(!tree.bugs.is_empty(), "cpufeatures.h names no bug");
        ensure!(!tree.affected.is_empty(), "common.c has no cpu_vuln_blacklist that could be read");
        Ok(tree)
    }

    /// Each CPU takes the first row that it matches, as `x86_match_cpu` does.
    fn read_affected(&mut self, source: &str, models: &BTreeMap<String, u32>) {
        let mut taken = CellSet::default();
        for call in calls(array(source, "cpu_vuln_blacklist"), "VULNBL") {
            let Some((cells, words)) = affected_row(&call, models) else {
                self.unread.push(format!("common.c: {}({})", call.name, call.arguments.join(", ")));
                continue;
            };
            let fresh = cells.without(&taken);
            taken.extend(&fresh);
            for word in words {
                self.affected.entry(word).or_default().extend(&fresh);
            }
        }
    }

    fn read_amd_ranges(&mut self, source: &str) {
        let source = without_comments(source);
        for (at, _) in source.match_indices("static const int amd_") {
            let declaration = &source[at..at + source[at..].find(';').unwrap_or(0)];
            let name = declaration["static const int amd_".len()..].split('[').next().unwrap_or_default();
            let mut cells = CellSet::default();
            for call in calls(declaration, "AMD_MODEL_RANGE") {
                let numbers: Vec<u32> = call.arguments.iter().filter_map(|text| number(text)).collect();
                let [family, first_model, first_stepping, last_model, last_stepping] = numbers[..] else {
                    self.unread.push(format!("amd.c: {}({})", call.name, call.arguments.join(", ")));
                    continue;
                };
                // Linux compares model and stepping as one number.
                cells.add_span(
                    AMD,
                    family,
                    [first_model << 4 | first_stepping, last_model << 4 | last_stepping],
                );
            }
            if !cells.is_empty() {
                self.amd_ranges.insert(name.to_owned(), cells);
            }
        }
    }

    fn read_deadline(&mut self, source: &str, models: &BTreeMap<String, u32>) {
        for call in calls(array(source, "deadline_match"), "X86_MATCH_") {
            let Some(((model, steppings), floor)) = deadline_row(&call, models) else {
                self.unread.push(format!("apic.c: {}({})", call.name, call.arguments.join(", ")));
                continue;
            };
            for stepping in steppings {
                self.deadline.entry(Cell { vendor: INTEL, family: 6, model, stepping }).or_insert(floor);
            }
        }
    }
}

/// A macro with its arguments.
struct Call {
    name: String,
    arguments: Vec<String>,
}

/// `VULNBL_INTEL_STEPPINGS(SKYLAKE_X, X86_STEPPINGS(0x0, 0x5), MMIO | GDS)` and its kin.
fn affected_row(call: &Call, models: &BTreeMap<String, u32>) -> Option<(CellSet, Vec<String>)> {
    let (words, place) = call.arguments.split_last()?;
    let words = words.split('|').map(|word| word.trim().to_owned()).collect();
    let mut cells = CellSet::default();
    match (call.name.as_str(), place) {
        ("VULNBL_AMD", [family]) => cells.add_family(AMD, number(family)?),
        ("VULNBL_HYGON", [family]) => cells.add_family(HYGON, number(family)?),
        ("VULNBL_INTEL_STEPPINGS", [model, steppings]) => {
            cells.add(INTEL, 6, *models.get(model)?, step_mask(steppings)?);
        }
        ("VULNBL_INTEL_STEPS", [model, last]) => {
            let last = if last == "X86_STEP_MAX" { 0xf } else { number(last)? };
            cells.add(INTEL, 6, *models.get(model)?, (0..=last).collect());
        }
        // Some CPUs of the model: those with this type of core.
        ("VULNBL_INTEL_TYPE", [model, _]) => cells.add(INTEL, 6, *models.get(model)?, (0..=0xf).collect()),
        _ => return None,
    }
    Some((cells, words))
}

/// `X86_MATCH_VFM_STEPS(INTEL_HASWELL_X, 0x2, 0x2, 0x3a)` and its older kin: the model, its steppings, the revision.
fn deadline_row(call: &Call, models: &BTreeMap<String, u32>) -> Option<((u32, Vec<u32>), u64)> {
    let (floor, place) = call.arguments.split_last()?;
    let steppings = match place {
        [_] => (0..=0xf).collect(),
        [_, steppings] => step_mask(steppings)?,
        [_, first, last] => (number(first)?..=number(last)?).collect(),
        _ => return None,
    };
    Some(((*models.get(&place[0])?, steppings), number(floor)?.into()))
}

/// `X86_STEPPING_ANY` or `X86_STEPPINGS(0x3, 0x5)`.
fn step_mask(text: &str) -> Option<Vec<u32>> {
    if text == "X86_STEPPING_ANY" {
        return Some((0..=0xf).collect());
    }
    let (first, last) = text.strip_prefix("X86_STEPPINGS(")?.strip_suffix(')')?.split_once(',')?;
    Some((number(first)?..=number(last)?).collect())
}

fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn version(makefile: &str) -> String {
    let of = |key: &str| {
        let found = pattern(&format!(r"(?m)^{key} = (\S+)")).captures(makefile);
        found.map_or_else(|| "?".to_owned(), |found| found[1].to_owned())
    };
    ["VERSION", "PATCHLEVEL", "SUBLEVEL"].map(of).join(".")
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is sound")
}

/// `DEVICE_ATTR(gather_data_sampling, 0444, cpu_show_gds, NULL)`.
fn vulnerability_files(source: &str) -> BTreeSet<String> {
    let is_one = |call: &Call| call.arguments.get(2).is_some_and(|show| show.starts_with("cpu_show_"));
    calls(&without_comments(source), "DEVICE_ATTR")
        .into_iter()
        .filter(is_one)
        .map(|call| call.arguments[0].clone())
        .collect()
}

/// `#define X86_BUG_SRSO X86_BUG(1*32 + 0) /* "srso" AMD SRSO bug */`: the quoted word, else the name.
fn bugs(source: &str) -> BTreeSet<String> {
    let define = pattern(r#"(?m)^#\s*define X86_BUG_(\w+)\s(?:[^\n]*/\*\s*"([^"\n]+)")?"#);
    let word = |found: regex::Captures<'_>| {
        found.get(2).map_or_else(|| found[1].to_lowercase(), |quoted| quoted.as_str().to_owned())
    };
    define.captures_iter(source).map(word).collect()
}

/// Models of family 6 by the names of macros, with and without what stands before them: 6.1 writes
/// `INTEL_FAM6_SKYLAKE_X 0x55` and drops the front in tables, 6.12 `INTEL_SKYLAKE_X IFM(6, 0x55)`.
fn intel_models(source: &str) -> BTreeMap<String, u32> {
    let define = pattern(r"(?m)^\s*#define (\w+)\s+(?:IFM\(6, *(\w+)\)|(\w+))\s*$");
    let mut found = BTreeMap::new();
    for one in define.captures_iter(&without_comments(source)) {
        let value = one.get(2).or_else(|| one.get(3)).and_then(|value| number(value.as_str()));
        let Some(model) = value else { continue };
        if let Some(short) = one[1].strip_prefix("INTEL_FAM6_") {
            found.insert(short.to_owned(), model);
        }
        found.insert(one[1].to_owned(), model);
    }
    found
}

/// The body of an array, or nothing.
fn array<'t>(source: &'t str, name: &str) -> &'t str {
    let Some(at) = source.find(&format!("{name}[]")) else { return "" };
    let body = &source[at..];
    &body[..body.find("};").unwrap_or(body.len())]
}

/// Every use of a macro whose name begins so, in order; commas within brackets belong to an argument.
fn calls(source: &str, prefix: &str) -> Vec<Call> {
    let source = without_comments(source);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in source.match_indices(prefix).filter(|(at, _)| !source[..*at].ends_with(is_name)) {
        let length = source[at..].find(|c| !is_name(c)).unwrap_or(0);
        let rest = source[at + length..].trim_start();
        let Some(rest) = rest.strip_prefix('(') else { continue };
        let (mut depth, mut arguments) = (0_u32, vec![String::new()]);
        for c in rest.chars() {
            match c {
                ')' if depth == 0 => break,
                ',' if depth == 0 => {
                    arguments.push(String::new());
                    continue;
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            arguments.last_mut().expect("there is one from the start").push(c);
        }
        let tidy = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let arguments = arguments.into_iter().map(tidy).collect();
        found.push(Call { name: source[at..at + length].to_owned(), arguments });
    }
    found
}

/// The text with each comment replaced by a space.
fn without_comments(source: &str) -> Cow<'_, str> {
    pattern(r"(?s)/\*.*?(?:\*/|\z)").replace_all(source, " ")
}

/// Numbers and codes beside the word erratum: `erratum_1485`, `Erratum 383`, `erratum #1054`, `AAI65, CLFLUSH`, `SKX102`.
fn errata(file: &'static str, source: &str) -> BTreeSet<Erratum> {
    let mut found = BTreeSet::new();
    for line in source.lines() {
        let lower = line.to_lowercase();
        for word in ["erratum", "errata"] {
            for (at, _) in lower.match_indices(word) {
                let behind = line[at + word.len()..].trim_start_matches([' ', '_', '#', '(']);
                found.extend(codes(behind));
            }
        }
        // Codes of Intel's specification updates that stand alone in a comment.
        found.extend(
            codes(line.trim_start().trim_start_matches("* ")).into_iter().filter(|code| code.len() > 4),
        );
    }
    found.into_iter().map(|name| Erratum { file, name }).collect()
}

/// Numbers, and codes of letters and digits, with which a text begins; slashes part several.
fn codes(text: &str) -> Vec<String> {
    let is_code = |code: &&str| {
        let letters = code.chars().take_while(char::is_ascii_uppercase).count();
        let digits = code.len() - letters;
        (letters == 0 || letters == 3) && digits >= 2 && code[letters..].chars().all(|c| c.is_ascii_digit())
    };
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '/')).unwrap_or(text.len());
    text[..end].split('/').filter(is_code).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_the_forms_of_old_and_new_kernels() {
        let bugs = bugs(
            "#define X86_BUG_F00F X86_BUG(0) /* Intel F00F */\n\
                         # define X86_BUG_MMATCH X86_BUG(3) /* \"tlb_mmatch\" AMD */\n\
                         #define X86_BUG_ESPFIX X86_BUG(9) /* \"\" hidden */\n",
        );
        assert_eq!(bugs, ["espfix", "f00f", "tlb_mmatch"].map(str::to_owned).into());
        let files = vulnerability_files(
            "static DEVICE_ATTR(gather_data_sampling, 0444, cpu_show_gds, NULL);\nstatic DEVICE_ATTR(online, 0444, show, NULL);",
        );
        assert_eq!(files, ["gather_data_sampling".to_owned()].into());
        let models = intel_models(
            "#define INTEL_FAM6_OLD\t0x0F /* Merom */\n#define INTEL_NEW IFM(6, 0xBD)\n#define INTEL_P4 IFM(15, 1)",
        );
        assert_eq!(
            (models.get("OLD"), models.get("INTEL_NEW"), models.get("INTEL_P4")),
            (Some(&15), Some(&0xbd), None)
        );
        assert_eq!(version("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\n"), "6.1.192");
    }

    #[test]
    fn the_first_row_of_a_table_that_fits_a_cpu_counts() {
        let models = [("BIG".to_owned(), 0x55)].into();
        let mut tree = KernelTree::default();
        tree.read_affected(
            "cpu_vuln_blacklist[] = {\nVULNBL_INTEL_STEPPINGS(BIG, X86_STEPPINGS(0x0, 0x5), GDS),\n\
             VULNBL_INTEL_STEPPINGS(BIG, X86_STEPPING_ANY, GDS | ITS), /* VULNBL_AMD(1, NO) */\n\
             VULNBL_AMD(0x19, SRSO),\nVULNBL_ODD(0x19, SRSO),\n};",
            &models,
        );
        let has = |word: &str, vendor, family, stepping| {
            tree.affected[word].contains(&Cell { vendor, family, model: 0x55, stepping })
        };
        assert!(has("GDS", INTEL, 6, 0) && has("GDS", INTEL, 6, 15) && has("SRSO", AMD, 0x19, 3));
        assert!(has("ITS", INTEL, 6, 6) && !has("ITS", INTEL, 6, 5));
        assert_eq!(tree.unread, ["common.c: VULNBL_ODD(0x19, SRSO)"]);
    }

    #[test]
    fn steppings_and_revisions_of_the_deadline_timer_are_read() {
        let models = [("HASWELL_X".to_owned(), 0x3f), ("INTEL_NEW".to_owned(), 0x4f)].into();
        let mut tree = KernelTree::default();
        tree.read_deadline(
            "deadline_match[] = { X86_MATCH_INTEL_FAM6_MODEL_STEPPINGS(HASWELL_X, X86_STEPPINGS(0x2, 0x2), 0x3a),\n\
             X86_MATCH_VFM_STEPS(INTEL_NEW, 0x1, 0x2, 0x0b000020), };",
            &models,
        );
        let floor = |model, stepping| tree.deadline.get(&Cell { vendor: INTEL, family: 6, model, stepping });
        assert_eq!((floor(0x3f, 2), floor(0x3f, 3), floor(0x4f, 2)), (Some(&0x3a), None, Some(&0x0b00_0020)));
        assert!(tree.unread.is_empty(), "{:?}", tree.unread);
    }

    #[test]
    fn errata_are_found_by_number_and_by_code() {
        let text = "amd_erratum_1485[] =\n/* Erratum 658 */\n * Atom erratum AAE44/AAF40/AAG38:\n * erratum #1054 \"x\"\n * errata etc.\n";
        let names: Vec<String> = errata("amd.c", text).into_iter().map(|erratum| erratum.name).collect();
        assert_eq!(names, ["1054", "1485", "658", "AAE44", "AAF40", "AAG38"]);
    }
}
