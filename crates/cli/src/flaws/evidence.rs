//! The evidence of a machine on its flaws: gathered here, judged elsewhere.

use std::collections::BTreeMap;

use ::flaws::Catalogue;
use host::{Cpuid, FlawSources, Root};
use machine::Machine;
use record::FlawEvidence;
use toggles::SystemState;

use super::arguments::JudgedArguments;
use super::timing;
use crate::global::Global;

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
            timing::measure(catalogue, &machine, &mut evidence, &timing::How::of(judged, global));
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
