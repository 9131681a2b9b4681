//! Flaws of the platform that deserve a finding: active at an undeclared cost, active in vain, open, or uneven between CPUs.

use record::{Answer, Area, Finding, FlawVerdict, Protection, Record, Severity, Special};

use super::{Details, finding};

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    for verdict in &record.flaws {
        if let Some(special) = verdict.special {
            found.push(paid(verdict, special));
        }
    }
    for text in &record.flaws_uneven {
        found.push(
            finding(Area::Flaws, "flaws-uneven", Severity::Warning, text.clone())
                .caused_by("a CPU without the bits or the microcode of the others lacks their workaround")
                .fixed_by("update firmware and microcode, then compare: sidestep flaws"),
        );
    }
    if let Some(text) = &record.model_made_up {
        found.push(
            finding(Area::Flaws, "cpu-model-made-up", Severity::Notice, text.clone())
                .caused_by("the hypervisor masks CPUID; lists of flaws by model say nothing here")
                .fixed_by("ask the provider which CPU it is, or run sidestep flaws on the host"),
        );
    }
    for (id, state, says, remedy) in STATES {
        let of_state: Vec<&FlawVerdict> = record
            .flaws
            .iter()
            .filter(|verdict| verdict.special.is_none() && verdict.protected == state)
            .filter(|verdict| verdict.affected != Answer::No)
            .collect();
        if !of_state.is_empty() {
            found.push(open(id, says, remedy, &of_state));
        }
    }
}

/// What deserves a notice, the worst first: id, state, sentence before the names, and what to consider before the fix.
const STATES: [(&str, Protection, &str, &str); 3] = [
    ("flaws-open", Protection::NotProtected, "flaws without protection", ""),
    ("flaws-partly", Protection::Partly, "flaws with partial protection", ""),
    (
        "flaws-on-request",
        Protection::OnRequest,
        "the kernel protects only programs that ask for it (its default)",
        "only if untrusted code runs inside a program, and after its cost is measured (sidestep ab --toggle ssbd -- PROGRAM): ",
    ),
];

/// One notice on the flaws of one state, with what would protect.
fn open(id: &str, says: &str, before: &str, verdicts: &[&FlawVerdict]) -> Finding {
    let ids: Vec<&str> = verdicts.iter().map(|verdict| verdict.id.as_str()).collect();
    let mut notice = finding(Area::Flaws, id, Severity::Notice, format!("{says}: {}", ids.join(", ")));
    let fixed = verdicts.iter().filter_map(|verdict| Some((&verdict.id, verdict.fix.as_ref()?)));
    let mut fixes: Vec<String> = Vec::new();
    for (id, fix) in fixed {
        notice.evidence.push(format!("{id}: {fix}"));
        if !fixes.contains(fix) {
            fixes.push(fix.clone());
        }
    }
    notice.remedy = Some(if fixes.is_empty() {
        "sidestep flaws show ID says what each means and what can be done".to_owned()
    } else {
        format!("{before}{}", fixes.join("; "))
    });
    notice
}

fn paid(verdict: &FlawVerdict, special: Special) -> Finding {
    let kind = match special {
        Special::UndeclaredCost => "untold",
        Special::PayingUnprotected => "unprotected",
        Special::WithoutNeed => "without-need",
    };
    let severity = if special == Special::WithoutNeed { Severity::Notice } else { Severity::Warning };
    let id = format!("{}-paid-{kind}", verdict.id);
    let text = format!("{}: {}", verdict.id, verdict.special_says().unwrap_or_default());
    let evidence = &verdict.evidence;
    let mut finding = finding(Area::Flaws, &id, severity, text).showing([
        format!("{}: {}", verdict.id, verdict.title),
        format!("kernel: {}", evidence.kernel.says),
        format!("registers: {}", evidence.registers.says),
        format!("time: {}", evidence.time.says),
    ]);
    finding.mechanism = verdict.disagreements.first().cloned();
    finding.prediction = verdict.costs.first().cloned();
    let switches: Vec<String> = verdict.switches.iter().map(ToString::to_string).collect();
    finding.remedy = verdict.fix.clone().or_else(|| (!switches.is_empty()).then(|| switches.join("; ")));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Evidence, Statement, WorkaroundState};

    fn verdict(id: &str, protected: Protection, special: Option<Special>) -> FlawVerdict {
        FlawVerdict {
            id: id.to_owned(),
            title: "title".into(),
            affected: Answer::Yes,
            because: String::new(),
            workaround: WorkaroundState::Unknown,
            protected,
            paid: Answer::Unknown,
            special,
            evidence: Evidence {
                time: Statement { says: "27.1".into(), ..Statement::default() },
                ..Evidence::default()
            },
            disagreements: Vec::new(),
            cause: None,
            vectors: [].into(),
            switches: Vec::new(),
            fix: (protected != Protection::Protected).then(|| format!("{id}=on")),
            costs: Vec::new(),
        }
    }

    #[test]
    fn what_is_paid_or_open_is_found_and_what_is_safe_is_not() {
        let record = Record {
            flaws: vec![
                verdict("gds", Protection::Protected, Some(Special::UndeclaredCost)),
                verdict("mds", Protection::NotProtected, Some(Special::PayingUnprotected)),
                verdict("ssb", Protection::OnRequest, None),
                verdict("retbleed", Protection::NotProtected, None),
                verdict("l1tf", Protection::Partly, None),
                verdict("meltdown", Protection::Protected, None),
            ],
            flaws_uneven: vec!["microcode revision differs between CPUs: 0x1 on 1, 0x2 on 1".into()],
            ..Record::default()
        };
        let mut found = Vec::new();
        judge(&record, &mut found);
        let ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
        let expected =
            ["gds-paid-untold", "mds-paid-unprotected", "flaws-uneven", "flaws-open", "flaws-partly"];
        assert_eq!(ids, [&expected[..], &["flaws-on-request"]].concat());
        for (finding, id) in found[3..].iter().zip(["retbleed", "l1tf", "ssb"]) {
            assert!(finding.text.ends_with(&format!(": {id}")), "{}", finding.text);
            let remedy = finding.remedy.as_deref().unwrap_or("");
            assert!(remedy.ends_with(&format!("{id}=on")), "{remedy}");
        }
        assert!(found[0].evidence.iter().any(|line| line == "time: 27.1"));
    }
}
