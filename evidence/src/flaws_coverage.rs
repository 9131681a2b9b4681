//! The catalogue of flaws against a kernel tree: what has no entry, and for which CPUs the two differ.
//!
//! A kernel knows flaws by files, words and tables; each is held against the entries. What is left out on purpose stands with
//! its reason in `evidence/flaws_coverage.toml`, so that a newer tree shows only what is new.

mod cells;
mod kernel_tree;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use flaws::{Catalogue, CpuRange, Flaw};
use record::Answer;
use serde::Deserialize;

use crate::Broken;
use cells::CellSet;
use kernel_tree::KernelTree;

/// The catalogue of flaws against a kernel tree
///
/// Reads a kernel tree: the vulnerability files of drivers/base/cpu.c, the bugs of cpufeatures.h, the list of affected CPUs of common.c,
/// errata and their CPUs in amd.c, intel.c and apic.c. Prints what has no entry in the catalogue of flaws, and which cells of family x
/// model x stepping differ. Gaps with a reason are in evidence/flaws_coverage.toml. A tree: Debian package linux-source-6.1, or any
/// checkout.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Root of the tree
    #[arg(long, value_name = "DIR")]
    linux: PathBuf,
    /// Also what is accepted, with its reason
    #[arg(long)]
    all: bool,
}

/// Gaps that are accepted, and words of the kernel for entries of ours.
const ACCEPTED: &str = include_str!("../flaws_coverage.toml");

/// The entry of the deadline timer, whose table apic.c has.
const DEADLINE: &str = "tsc-deadline";

/// CPUs that are compared.
const FAMILIES: [(&str, u32); 12] = [
    ("GenuineIntel", 0x6),
    ("AuthenticAMD", 0xf),
    ("AuthenticAMD", 0x10),
    ("AuthenticAMD", 0x11),
    ("AuthenticAMD", 0x12),
    ("AuthenticAMD", 0x14),
    ("AuthenticAMD", 0x15),
    ("AuthenticAMD", 0x16),
    ("AuthenticAMD", 0x17),
    ("HygonGenuine", 0x18),
    ("AuthenticAMD", 0x19),
    ("AuthenticAMD", 0x1a),
];

/// The file of accepted gaps.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    /// Words of the kernel's tables that are not an entry's name.
    #[serde(default)]
    word: Vec<Word>,
    /// What is left out.
    #[serde(default)]
    gap: Vec<Gap>,
}

/// A word of a table of the kernel, and our entry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    kernel: String,
    flaw: String,
}

/// Where a gap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// A file of /sys/devices/system/cpu/vulnerabilities.
    File,
    /// A bug of cpufeatures.h.
    Bug,
    /// An erratum that code names.
    Erratum,
    /// CPUs of an entry.
    Cells,
}

/// A gap with its reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gap {
    kind: Kind,
    name: String,
    /// Of cells: which; all where empty.
    #[serde(default)]
    cpus: Vec<CpuRange>,
    reason: String,
}

/// A difference, accepted or not.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    kind: Kind,
    name: String,
    says: String,
    reason: Option<String>,
}

/// What was compared.
#[derive(Debug, Default)]
struct Comparison {
    /// By kind: things with an entry, CPUs on which both agree.
    agreeing: BTreeMap<Kind, usize>,
    differences: Vec<Difference>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Broken> {
    let tree = KernelTree::read(&arguments.linux)?;
    let catalogue = flaws::catalogue();
    let accepted: Accepted = toml::from_str(ACCEPTED).context("evidence/flaws_coverage.toml")?;
    let found = compare(&tree, &catalogue, &accepted);
    println!("Linux {} against {} entries", tree.version, catalogue.flaws.len());
    let place = "teach evidence/src/flaws_coverage/kernel_tree.rs its form";
    let mut broken: Broken = tree.unread.iter().map(|line| format!("cannot read {line}; {place}")).collect();
    for (kind, title) in
        [(Kind::File, "files"), (Kind::Bug, "bugs"), (Kind::Erratum, "errata"), (Kind::Cells, "CPUs")]
    {
        let of = || found.differences.iter().filter(|difference| difference.kind == kind);
        let agreeing = found.agreeing.get(&kind).copied().unwrap_or(0);
        let excused = of().filter(|difference| difference.reason.is_some()).count();
        println!("{title:<7} {agreeing} agree, {excused} accepted gaps, {} new", of().count() - excused);
        for difference in of() {
            let line = format!("{title} {}: {}", difference.name, difference.says);
            match &difference.reason {
                None => broken.push(line),
                Some(reason) if arguments.all => println!("  accepted: {line}: {reason}"),
                Some(_) => {}
            }
        }
    }
    Ok(broken)
}

fn compare(tree: &KernelTree, catalogue: &Catalogue, accepted: &Accepted) -> Comparison {
    let mut found = Comparison::default();
    let flaws = &catalogue.flaws;
    for file in &tree.vulnerability_files {
        let has = flaws.iter().any(|flaw| flaw.vulnerability_file.as_ref() == Some(file));
        found.note(accepted, Kind::File, file, has);
    }
    for bug in &tree.bugs {
        let names = |flaw: &Flaw| {
            flaw.bug.as_ref() == Some(bug) || flaw.sub_state.iter().any(|sub_state| sub_state.bug == *bug)
        };
        found.note(accepted, Kind::Bug, bug, flaws.iter().any(names));
    }
    for erratum in &tree.errata {
        let name = &erratum.name;
        let has = catalogue.find(name).or_else(|| catalogue.find(&format!("erratum {name}"))).is_some();
        found.note(accepted, Kind::Erratum, &format!("{} {name}", erratum.file), has);
    }
    for (id, cells) in by_flaw(tree, catalogue, accepted, &mut found) {
        found.hold_cells(accepted, catalogue.find(&id).expect("by_flaw looked it up"), &cells);
    }
    if let Some(flaw) = catalogue.find(DEADLINE) {
        found.hold_deadline(accepted, flaw, tree);
    }
    found
}

/// The kernel's CPUs by entry; words without one are noted as gaps.
fn by_flaw(
    tree: &KernelTree,
    catalogue: &Catalogue,
    accepted: &Accepted,
    found: &mut Comparison,
) -> BTreeMap<String, CellSet> {
    let mut sets: BTreeMap<String, CellSet> = BTreeMap::new();
    for (word, cells) in tree.affected.iter().chain(&tree.amd_ranges) {
        let lower = word.to_lowercase();
        if catalogue.flaws.iter().flat_map(|flaw| &flaw.sub_state).any(|sub_state| sub_state.bug == lower) {
            continue;
        }
        let named = accepted.word.iter().find(|known| known.kernel == *word).map(|known| known.flaw.as_str());
        let flaw =
            catalogue.find(named.unwrap_or(&lower)).or_else(|| catalogue.find(&lower.replace('_', " ")));
        let flaw = flaw.or_else(|| catalogue.find(&lower.replace('_', "-")));
        match flaw {
            Some(flaw) => sets.entry(flaw.id.clone()).or_default().extend(cells),
            None => found.note(accepted, Kind::Cells, word, false),
        }
    }
    sets
}

impl Comparison {
    /// One thing that has an entry or not.
    fn note(&mut self, accepted: &Accepted, kind: Kind, name: &str, has_entry: bool) {
        if has_entry {
            *self.agreeing.entry(kind).or_default() += 1;
            return;
        }
        let gap = accepted.gap.iter().find(|gap| gap.kind == kind && gap.name == name);
        let reason = gap.map(|gap| gap.reason.clone());
        self.differences.push(Difference {
            kind,
            name: name.to_owned(),
            says: "no entry".to_owned(),
            reason,
        });
    }

    /// CPUs on which the kernel and an entry differ, and those on which they agree that it is there.
    fn hold_cells(&mut self, accepted: &Accepted, flaw: &Flaw, kernel: &CellSet) {
        let all = CellSet::all(&FAMILIES);
        let listed = |answer| all.only(|cell| flaw.listed(&cell.signature()) == answer);
        let (yes, may) = (listed(Answer::Yes), listed(Answer::Unknown));
        *self.agreeing.entry(Kind::Cells).or_default() += kernel.only(|cell| yes.contains(cell)).len();
        let missing = kernel.without(&yes);
        self.differ(
            accepted,
            flaw,
            "the kernel has them, the entry may",
            &missing.only(|cell| may.contains(cell)),
        );
        self.differ(accepted, flaw, "the kernel has them, the entry not", &missing.without(&may));
        self.differ(accepted, flaw, "the entry has them, the kernel not", &yes.without(kernel));
    }

    /// The kernel's microcode revisions for the deadline timer.
    fn hold_deadline(&mut self, accepted: &Accepted, flaw: &Flaw, tree: &KernelTree) {
        let mut other = CellSet::default();
        let mut known = CellSet::default();
        for (&cell, &floor) in tree.deadline.iter().filter(|(_, floor)| **floor > 0) {
            let of =
                if flaw.microcode_from(&cell.signature()) == Some(floor) { &mut known } else { &mut other };
            of.add(cell.vendor, cell.family, cell.model, vec![cell.stepping]);
        }
        *self.agreeing.entry(Kind::Cells).or_default() += known.len();
        self.differ(accepted, flaw, "the first microcode with the repair differs", &other);
        let listed = CellSet::all(&FAMILIES).only(|cell| flaw.listed(&cell.signature()) == Answer::Yes);
        self.differ(
            accepted,
            flaw,
            "the entry has them, the kernel not",
            &listed.without(&known).without(&other),
        );
    }

    /// A difference of CPUs, parted into what each accepted gap covers and the rest.
    fn differ(&mut self, accepted: &Accepted, flaw: &Flaw, says: &str, cells: &CellSet) {
        let mut rest = cells.clone();
        let gaps = accepted.gap.iter().filter(|gap| gap.kind == Kind::Cells && gap.name == flaw.id);
        let mut push = |cells: &CellSet, reason: Option<String>| {
            if !cells.is_empty() {
                let says = format!("{says}: {}", cells.in_words());
                self.differences.push(Difference { kind: Kind::Cells, name: flaw.id.clone(), says, reason });
            }
        };
        for gap in gaps {
            let covered = rest.only(|cell| {
                gap.cpus.is_empty() || gap.cpus.iter().any(|range| range.has(&cell.signature()))
            });
            push(&covered, Some(gap.reason.clone()));
            rest = rest.without(&covered);
        }
        push(&rest, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_tree::Erratum;

    fn reported(found: &Comparison) -> Vec<(Kind, String, bool)> {
        let one = |difference: &Difference| {
            (
                difference.kind,
                format!("{}: {}", difference.name, difference.says),
                difference.reason.is_some(),
            )
        };
        found.differences.iter().map(one).collect()
    }

    #[test]
    fn accepted_gaps_have_reasons_and_name_flaws_of_the_catalogue() {
        let accepted: Accepted = toml::from_str(ACCEPTED).expect("it is built in");
        let catalogue = flaws::catalogue();
        for word in &accepted.word {
            assert!(catalogue.find(&word.flaw).is_some(), "{}", word.flaw);
        }
        for gap in &accepted.gap {
            assert!(!gap.reason.trim().is_empty(), "{}", gap.name);
            assert!(gap.kind != Kind::Cells || catalogue.find(&gap.name).is_some(), "{}", gap.name);
        }
    }

    #[test]
    fn what_has_no_entry_and_which_cpus_differ_is_reported_unless_it_is_accepted() {
        let mut gds = CellSet::default();
        for (model, steppings) in [(0x55, vec![7]), (0x01, vec![0]), (0x02, vec![3])] {
            gds.add("GenuineIntel", 6, model, steppings);
        }
        let tree = KernelTree {
            vulnerability_files: ["gather_data_sampling", "new_file"].map(str::to_owned).into(),
            bugs: ["gds", "mmio_unknown", "old_bug", "new_bug"].map(str::to_owned).into(),
            errata: ["298", "9999"].map(|name| Erratum { file: "amd.c", name: name.to_owned() }).into(),
            affected: [("GDS".to_owned(), gds), ("NEW".to_owned(), CellSet::default())].into(),
            ..KernelTree::default()
        };
        let text = "[[gap]]\nkind = \"bug\"\nname = \"old_bug\"\nreason = \"old\"\n\
                    [[gap]]\nkind = \"cells\"\nname = \"gds\"\nreason = \"odd\"\n\
                    cpus = [{ vendor = \"GenuineIntel\", family = 6, models = [[1, 1]] }]";
        let accepted: Accepted = toml::from_str(text).expect("its form is right");
        let catalogue = flaws::catalogue();
        let found = compare(&tree, &catalogue, &accepted);
        let mut reported = reported(&found);
        let extra = "gds: the entry has them, the kernel not: ";
        reported.retain(|(_, says, _)| !says.starts_with(extra) && !says.starts_with(DEADLINE));
        let expected = [
            (Kind::File, "new_file: no entry", false),
            (Kind::Bug, "new_bug: no entry", false),
            (Kind::Bug, "old_bug: no entry", true),
            (Kind::Erratum, "amd.c 9999: no entry", false),
            (Kind::Cells, "NEW: no entry", false),
            (Kind::Cells, "gds: the kernel has them, the entry not: GenuineIntel 06: 01 (0-0)", true),
            (Kind::Cells, "gds: the kernel has them, the entry not: GenuineIntel 06: 02 (3-3)", false),
        ];
        assert_eq!(reported, expected.map(|(kind, says, reason)| (kind, says.to_owned(), reason)));
        assert_eq!((found.agreeing[&Kind::File], found.agreeing[&Kind::Bug]), (1, 2));
    }
}
