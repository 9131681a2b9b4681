//! Evidence of made-up machines, piece by piece.

use flaws::{Catalogue, judge};
use record::{
    Answer, CpuSignature, FlawEvidence, FlawVerdict, Reading, RegisterReading, SignatureReading,
    WorkaroundState,
};
use stats::Interval;

/// The verdict on one flaw.
pub(crate) fn of(catalogue: &Catalogue, evidence: &FlawEvidence, id: &str) -> FlawVerdict {
    judge(catalogue, evidence).into_iter().find(|verdict| verdict.id == id).expect(id)
}

/// How its workarounds are switched, in words.
pub(crate) fn switches(verdict: &FlawVerdict) -> String {
    verdict.switches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Whether it is affected, and the state of the workaround.
pub(crate) fn reported(verdict: &FlawVerdict) -> (Answer, WorkaroundState) {
    (verdict.affected, verdict.workaround)
}

/// A CPU by vendor, family, model, stepping.
pub(crate) fn cpu(vendor: &str, family: u32, model: u32, stepping: u32) -> CpuSignature {
    CpuSignature {
        vendor: Some(vendor.into()),
        family: Some(family),
        model: Some(model),
        stepping: Some(stepping),
        ..CpuSignature::default()
    }
}

/// A machine of two such CPUs.
pub(crate) fn machine_of(vendor: &str, family: u32, model: u32, stepping: u32) -> FlawEvidence {
    let mut evidence =
        FlawEvidence { cpus: vec![cpu(vendor, family, model, stepping); 2], ..FlawEvidence::default() };
    evidence.shape.cpus = 2;
    evidence
}

/// The same as a guest of KVM.
pub(crate) fn guest_of(vendor: &str, family: u32, model: u32, stepping: u32) -> FlawEvidence {
    FlawEvidence { hypervisor: Some("KVM".into()), ..machine_of(vendor, family, model, stepping) }
}

/// Adds a vulnerability file.
pub(crate) fn with_file(evidence: &mut FlawEvidence, file: &str, text: &str) {
    evidence.vulnerabilities.get_or_insert_default().insert(file.into(), Reading::Is(text.into()));
}

/// Sets a register of every CPU.
pub(crate) fn with_msr(evidence: &mut FlawEvidence, number: u32, value: u64) {
    let on = |unit| RegisterReading { unit, value: Reading::Is(value) };
    let count = evidence.cpus.len() as u32;
    evidence.msr.insert(format!("{number:x}"), (0..count).map(on).collect());
}

/// Adds what a signature probe measured, with a control that held.
pub(crate) fn with_time(evidence: &mut FlawEvidence, quantity: &str, unit: &str, value: f64) {
    let reading = SignatureReading {
        value,
        interval: Interval { low: value * 0.999, high: value * 1.001 },
        unit: unit.into(),
        count: 200,
        control: "control".into(),
        control_ratio: 1.0,
        control_interval: Interval { low: 0.99, high: 1.01 },
        control_holds: true,
    };
    evidence.timing.insert(quantity.into(), Reading::Is(reading));
}

/// Sets a configuration word of two nodes.
pub(crate) fn with_pci(evidence: &mut FlawEvidence, function: u32, offset: u32, value: u64) {
    let on = |unit| RegisterReading { unit, value: Reading::Is(value) };
    evidence.pci.insert(format!("{function:x}.{offset:x}"), (0..2).map(on).collect());
}

/// Gives every CPU this microcode.
pub(crate) fn with_microcode(evidence: &mut FlawEvidence, revision: u64) {
    evidence.cpus.iter_mut().for_each(|cpu| cpu.microcode = Some(revision));
}
