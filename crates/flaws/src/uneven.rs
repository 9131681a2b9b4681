//! CPUs of one machine that differ where they should be alike: steppings, microcode, register bits.

use std::collections::BTreeMap;

use record::{CpuSignature, FlawEvidence};

use crate::Catalogue;

/// Differences between the CPUs of a machine, one sentence each.
///
/// Boards with mixed steppings are legal and need the union of all workarounds; unequal microcode or register bits
/// mean that a CPU lacks what the others have.
pub fn uneven(catalogue: &Catalogue, evidence: &FlawEvidence) -> Vec<String> {
    let mut found = Vec::new();
    let signature = |cpu: &CpuSignature| {
        let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        format!("{}-{}-{}", number(cpu.family), number(cpu.model), number(cpu.stepping))
    };
    let microcode = |cpu: &CpuSignature| {
        cpu.microcode.map_or_else(|| "unknown".to_owned(), |revision| format!("{revision:#x}"))
    };
    found.extend(differing("family-model-stepping", evidence.cpus.iter().map(signature)));
    found.extend(differing("microcode revision", evidence.cpus.iter().map(microcode)));
    if evidence.hypervisor.is_some() {
        return found;
    }
    // Only the bits that the catalogue knows: others may differ by design.
    let mut masks: BTreeMap<u32, u64> = BTreeMap::new();
    for bits in catalogue.flaws.iter().flat_map(|flaw| &flaw.msr) {
        *masks.entry(bits.number).or_default() |= bits.mask;
    }
    for (number, mask) in masks {
        let readings = evidence.msr.get(&record::msr_key(number)).map_or(&[][..], Vec::as_slice);
        let bits = readings.iter().filter_map(|reading| reading.value.value());
        let name = format!("MSR {number:08x} & {mask:x}");
        found.extend(differing(&name, bits.map(|value| format!("{:x}", value & mask))));
    }
    found
}

/// A sentence when the values are not all alike.
fn differing(name: &str, values: impl Iterator<Item = String>) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let each: Vec<String> = counts.iter().map(|(value, count)| format!("{value} on {count}")).collect();
    Some(format!("{name} differs between CPUs: {}", each.join(", ")))
}
