//! Time as a witness: what a signature probe measured, against what is known of this CPU.

use record::{FlawEvidence, Reading, SignatureReading, Statement, WorkaroundState};

use crate::cpu_range::{Membership, among};
use crate::wording::protection;
use crate::{Baseline, Flaw, Signature};

/// Asks time about one flaw.
pub(crate) fn time(flaw: &Flaw, evidence: &FlawEvidence) -> Statement {
    let says = |text: String| Statement { says: text, ..Statement::default() };
    let Some(signature) = &flaw.signature else { return says("no signature known".into()) };
    let Some(baseline) = baseline(signature, evidence) else {
        return says("no baseline for this CPU".into());
    };
    let measured = match evidence.timing.get(&signature.quantity) {
        None => return says("not measured".into()),
        Some(Reading::Missing(reason)) => return says(format!("not measured: {reason}")),
        Some(Reading::Is(measured)) => measured,
    };
    let value = number(measured);
    if !measured.control_holds {
        let control = format!("{} moved to {:.3}", measured.control, measured.control_ratio);
        return says(format!("{value}; cannot tell: the control ({control})"));
    }
    let expected = expectation(baseline);
    let state = if measured.interval.low >= baseline.on_at_least {
        WorkaroundState::On
    } else if measured.interval.high <= baseline.off_at_most {
        WorkaroundState::Off
    } else {
        return says(format!("{value}; cannot tell: it lies between off and on ({expected})"));
    };
    let says = format!("{value} ({expected})");
    Statement { says, workaround: state, protected: protection(state), ..Statement::default() }
}

/// Whether it is known what a signature comes to on these CPUs.
pub(crate) fn has_baseline(signature: &Signature, evidence: &FlawEvidence) -> bool {
    baseline(signature, evidence).is_some()
}

fn baseline<'s>(signature: &'s Signature, evidence: &FlawEvidence) -> Option<&'s Baseline> {
    signature.baseline.iter().find(|baseline| is_for(baseline, evidence))
}

fn is_for(baseline: &Baseline, evidence: &FlawEvidence) -> bool {
    baseline.cpus.is_empty()
        || evidence.cpus.iter().any(|cpu| among(&baseline.cpus, cpu) == Membership::Inside)
}

fn number(measured: &SignatureReading) -> String {
    let unit = if measured.unit == "ratio" { "x".to_owned() } else { format!(" {}", measured.unit) };
    format!("{:.3}{unit} [{:.3}, {:.3}]", measured.value, measured.interval.low, measured.interval.high)
}

fn expectation(baseline: &Baseline) -> String {
    let one = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value}"));
    let known: Vec<String> =
        [one("without", baseline.without), one("with", baseline.with)].into_iter().flatten().collect();
    if known.is_empty() {
        return format!("off up to {}, on from {}", baseline.off_at_most, baseline.on_at_least);
    }
    known.join(", ")
}
