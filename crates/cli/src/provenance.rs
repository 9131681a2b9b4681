//! Who measures, when and how: what every record begins with.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use host::live;
use machine::{CpuId, CpuSet, Machine};
use record::Provenance;

/// Who measures, when and how, without the host's name.
pub(crate) fn provenance(machine: &Machine, cpus: &[CpuId], seed: u64, budget_s: f64) -> Provenance {
    let root = live::effective_root();
    let mut without = machine.missing.clone();
    if !root {
        without.push("not root: no reserved huge pages, no registers".to_owned());
    }
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: env::args().skip(1).map(|argument| record::shareable_argument(&argument)).collect(),
        started_utc: live::utc_now(),
        seed,
        boot_id: live::boot_id(),
        kernel_set: Some(kernels::KERNEL_SET),
        cpus: cpus.iter().copied().collect(),
        budget_s,
        root,
        without,
        ..Provenance::default()
    }
}

/// The CPUs asked for, all of which must be usable; else all that may be used.
pub(crate) fn chosen_cpus(machine: &Machine, wanted: Option<&CpuSet>) -> anyhow::Result<Vec<CpuId>> {
    let allowed = live::allowed_cpus();
    let allowed = if allowed.is_empty() { machine.topology.allowed.clone() } else { allowed };
    let Some(wanted) = wanted else {
        return Ok(allowed.iter().collect());
    };
    anyhow::ensure!(!wanted.is_empty(), "--cpus names no CPU; choose among {allowed}");
    let missing = wanted.difference(&allowed);
    anyhow::ensure!(missing.is_empty(), "CPU {missing} may not be used here; choose among {allowed}");
    Ok(wanted.iter().collect())
}

/// A seed that differs from run to run.
pub(crate) fn seed_of_now() -> u64 {
    // Any number will do; the record keeps it, and --seed repeats it.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |time| u64::from(time.subsec_nanos()) | time.as_secs() << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_may_not_be_used_are_named_with_those_that_may() {
        let error = chosen_cpus(&Machine::default(), Some(&"16000".parse().expect("a list")))
            .expect_err("no such CPU");
        assert!(error.to_string().contains("choose among"), "{error}");
    }
}
