//! What the witnesses of a machine say: gathered here, judged elsewhere.

use ::flaws::Catalogue;
use host::{Cpuid, Root, Witness};
use machine::Machine;
use record::FlawEvidence;

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
        let evidence = witness.hear(&catalogue.registers());
        Self { machine: witness.machine, evidence }
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
        let cpuid = if is_live { Cpuid::live() } else { dump };
        let witness = match &cpuid {
            Some(dump) if judged.sysroot.is_none() && !is_live => Witness::of_dump(dump),
            cpuid => Witness::of(&root, cpuid.as_ref()),
        };
        let mut evidence = witness.hear(&catalogue.registers());
        let machine = witness.machine;
        if is_live && !judged.no_timing {
            timing::measure(catalogue, &machine, &mut evidence, &timing::How::of(judged, global));
        }
        Ok(Self { machine, evidence })
    }
}
