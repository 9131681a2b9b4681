//! Time as evidence: the signature probes of the flaws that may concern this machine.

use std::time::Duration;

use ::flaws::Catalogue;
use host::live;
use machine::Machine;
use probes::session::Progress;
use probes::signature::{SignatureProbe, SignatureSetup, measure as measure_one};
use record::{FlawEvidence, Reading};

use super::arguments::JudgedArguments;
use crate::global::Global;
use crate::progress::Line;
use crate::provenance::seed_of_now;

/// What one probe takes, for the time left.
const PROBE_TIME: Duration = Duration::from_millis(300);

/// How to measure.
pub(super) struct How {
    disruptive: bool,
    quiet: bool,
}

impl How {
    pub(super) fn of(judged: &JudgedArguments, global: &Global) -> Self {
        Self { disruptive: judged.disruptive, quiet: global.quiet }
    }
}

/// The signature probes that can decide on flaws that may concern a machine.
pub(crate) fn telling(catalogue: &Catalogue, evidence: &FlawEvidence) -> Vec<SignatureProbe> {
    catalogue.telling_probes(evidence).into_iter().filter_map(SignatureProbe::from_name).collect()
}

/// Adds what was measured to the evidence. A flaw that the CPU cannot have is not measured.
pub(super) fn measure(catalogue: &Catalogue, machine: &Machine, evidence: &mut FlawEvidence, how: &How) {
    let probes = telling(catalogue, evidence);
    let refuse = |evidence: &mut FlawEvidence, reason: &str| {
        for probe in &probes {
            evidence.timing.insert(probe.quantity().name.to_owned(), Reading::Missing(reason.to_owned()));
        }
    };
    let setup = match SignatureSetup::of(machine, seed_of_now(), how.disruptive) {
        Ok(setup) => setup,
        Err(error) => {
            refuse(evidence, &error.to_string());
            return;
        }
    };
    // Without a handler Ctrl-C ends the process at once, and nothing is left behind: no setting is changed.
    let line = Line::new(how.quiet);
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
