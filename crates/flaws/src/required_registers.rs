//! What the catalogue wants to know of a machine: the registers to read, the probes to run.

use std::collections::BTreeSet;

use record::{Answer, FlawEvidence, PciWord, RegistersAsked};

use crate::Catalogue;
use crate::judge::judge;
use crate::registers::{OSVW_LENGTH, OSVW_STATUS};
use crate::time::has_baseline;

impl Catalogue {
    /// The registers that its entries name.
    pub fn registers(&self) -> RegistersAsked {
        let mut required = RegistersAsked::default();
        for flaw in &self.flaws {
            required.msr.extend(flaw.msr.iter().map(|bits| bits.number));
            if flaw.osvw.is_some() {
                required.msr.extend([OSVW_LENGTH, OSVW_STATUS]);
            }
            required
                .pci
                .extend(flaw.pci.iter().map(|bits| PciWord { function: bits.function, offset: bits.offset }));
            let needed = flaw.need.iter().flat_map(|need| need.flag.iter().chain(&need.without_flag));
            let fixing = flaw.workaround.iter().flat_map(|workaround| &workaround.fix_flags);
            required.flags.extend(needed.chain(fixing).cloned());
            required.kernel_flags.extend(flaw.hidden_flag.iter().map(|flag| flag.name.clone()));
            required.cpuid.extend(flaw.cpuid.iter().map(|bit| (bit.leaf, bit.subleaf)));
        }
        required
    }

    /// Names of the signature probes of flaws that may concern a machine, each once. Without a baseline for its CPUs a value
    /// could not decide, and is not measured.
    pub fn telling_probes(&self, evidence: &FlawEvidence) -> Vec<&str> {
        let verdicts = judge(self, evidence);
        let concerned =
            self.flaws.iter().zip(&verdicts).filter(|(_, verdict)| verdict.affected != Answer::No);
        let signatures = concerned.filter_map(|(flaw, _)| flaw.signature.as_ref());
        let mut named = BTreeSet::new();
        signatures
            .filter(|signature| has_baseline(signature, evidence))
            .map(|signature| signature.probe.as_str())
            .filter(|name| named.insert(*name))
            .collect()
    }
}
