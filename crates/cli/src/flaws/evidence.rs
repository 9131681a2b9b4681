//! What the witnesses of a machine say: gathered here, judged elsewhere.

use std::collections::BTreeMap;

use ::flaws::Catalogue;
use host::{Cpuid, Root, Witness};
use machine::Machine;
use record::FlawEvidence;
use toggles::Surroundings;

use super::arguments::JudgedArguments;
use super::timing;
use crate::arguments::Global;

/// A machine with what its witnesses say.
pub(crate) struct Heard {
    pub(crate) machine: Machine,
    pub(crate) evidence: FlawEvidence,
}

impl Heard {
    /// Hears kernel and registers of this machine; the check-up hears time later.
    pub(crate) fn of_this_machine(catalogue: &Catalogue) -> Self {
        let (root, cpuid) = (Root::live(), Cpuid::live());
        let witness = Witness::of(&root, cpuid.as_ref());
        let mut evidence = witness.hear(&catalogue.registers());
        let machine = witness.machine;
        evidence.toggles_missing = toggles_missing(catalogue, &root, &machine);
        Self { machine, evidence }
    }

    /// Hears all witnesses of the machine that the arguments name.
    pub(super) fn of(
        judged: &JudgedArguments,
        catalogue: &Catalogue,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let dump = judged.cpuid.as_deref().map(Cpuid::open).transpose()?;
        let root = judged.sysroot.as_deref().map_or_else(|| Ok(Root::live()), Root::open)?;
        let is_live = judged.sysroot.is_none() && dump.is_none();
        let cpuid = if is_live { Cpuid::live() } else { dump.or_else(|| Cpuid::beside(&root)) };
        let witness = match &cpuid {
            Some(dump) if judged.sysroot.is_none() && !is_live => Witness::of_dump(dump),
            cpuid => Witness::of(&root, cpuid.as_ref()),
        };
        let mut evidence = witness.hear(&catalogue.registers());
        let machine = witness.machine;
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
    let around = Surroundings::of(root, machine);
    let named = catalogue.flaws.iter().flat_map(|flaw| &flaw.workaround);
    let missing = |name: &String| {
        let reason = toggles::find(name).ok()?.availability(&around).out_of_reach()?.to_owned();
        Some((name.clone(), reason))
    };
    named.filter_map(|workaround| workaround.switch.toggle.as_ref()).filter_map(missing).collect()
}
