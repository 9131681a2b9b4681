//! The evidence of a machine on its flaws: gathered here, judged elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use ::flaws::Catalogue;
use host::{Cpuid, FlawSources, Root, live};
use machine::Machine;
use probes::session::Progress;
use probes::signature::{SignatureProbe, SignatureSetup, measure as measure_one};
use record::{FlawEvidence, Reading};
use toggles::SystemState;

use super::arguments::JudgedArguments;
use crate::global::Global;
use crate::progress::ProgressLine;
use crate::provenance::seed_of_now;

/// A machine with the evidence on its flaws.
pub(crate) struct Examined {
    pub(crate) machine: Machine,
    pub(crate) evidence: FlawEvidence,
}

impl Examined {
    /// Reads kernel and registers of this machine; the check-up measures later.
    pub(crate) fn of_this_machine(catalogue: &Catalogue) -> Self {
        let (root, cpuid) = (Root::live(), Cpuid::live());
        let sources = FlawSources::of(&root, cpuid.as_ref());
        let mut evidence = sources.read(&catalogue.registers());
        let machine = sources.machine;
        evidence.toggles_missing = toggles_missing(catalogue, &root, &machine);
        Self { machine, evidence }
    }

    /// Reads and measures all evidence of the machine that the arguments name.
    pub(super) fn of(
        judged: &JudgedArguments,
        catalogue: &Catalogue,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let dump = judged.cpuid.as_deref().map(Cpuid::open).transpose()?;
        let root = judged.sysroot.as_deref().map_or_else(|| Ok(Root::live()), Root::open)?;
        let is_live = judged.sysroot.is_none() && dump.is_none();
        let cpuid = if is_live { Cpuid::live() } else { dump.or_else(|| Cpuid::beside(&root)) };
        let sources = match &cpuid {
            Some(dump) if judged.sysroot.is_none() && !is_live => FlawSources::of_dump(dump),
            cpuid => FlawSources::of(&root, cpuid.as_ref()),
        };
        let mut evidence = sources.read(&catalogue.registers());
        let machine = sources.machine;
        if is_live {
            evidence.toggles_missing = toggles_missing(catalogue, &root, &machine);
        }
        if is_live && !judged.no_timing {
            measure(catalogue, &machine, &mut evidence, (judged, global));
        }
        Ok(Self { machine, evidence })
    }
}

/// The toggles that the catalogue advises and this machine does not have, with the reasons. What a recording lacks, its machine
/// may have.
pub(crate) fn toggles_missing(
    catalogue: &Catalogue,
    root: &Root,
    machine: &Machine,
) -> BTreeMap<String, String> {
    let system = SystemState::of(root, machine);
    let named = catalogue.flaws.iter().flat_map(|flaw| &flaw.workaround);
    let missing = |name: &String| {
        let reason = toggles::find(name).ok()?.availability(&system).out_of_reach()?.to_owned();
        Some((name.clone(), reason))
    };
    named.filter_map(|workaround| workaround.switch.toggle.as_ref()).filter_map(missing).collect()
}

/// What one probe takes, for the time left.
const PROBE_TIME: Duration = Duration::from_millis(300);

/// The signature probes that can decide on flaws that may concern a machine.
pub(crate) fn telling(catalogue: &Catalogue, evidence: &FlawEvidence) -> Vec<SignatureProbe> {
    catalogue.telling_probes(evidence).into_iter().filter_map(SignatureProbe::from_name).collect()
}

/// Adds what was measured to the evidence. A flaw that the CPU cannot have is not measured.
fn measure(
    catalogue: &Catalogue,
    machine: &Machine,
    evidence: &mut FlawEvidence,
    (judged, global): (&JudgedArguments, &Global),
) {
    let probes = telling(catalogue, evidence);
    let refuse = |evidence: &mut FlawEvidence, reason: &str| {
        for probe in &probes {
            evidence.timing.insert(probe.quantity().name.to_owned(), Reading::Missing(reason.to_owned()));
        }
    };
    let setup = match SignatureSetup::of(machine, seed_of_now(), judged.disruptive) {
        Ok(setup) => setup,
        Err(error) => {
            refuse(evidence, &error.to_string());
            return;
        }
    };
    // Without a handler Ctrl-C ends the process at once, and nothing is left behind: no setting is changed.
    let line = ProgressLine::new(global.quiet);
    for (index, probe) in probes.iter().enumerate() {
        if live::pending_signal().is_some() {
            break;
        }
        let left = u32::try_from(probes.len() - index).unwrap_or(u32::MAX);
        line.begin(probe.name(), PROBE_TIME.saturating_mul(left));
        line.update(index as f64 / probes.len() as f64);
        evidence.timing.insert(probe.quantity().name.to_owned(), measure_one(*probe, &setup));
    }
    line.end();
}
