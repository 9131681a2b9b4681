//! Flaws of the platform that deserve a finding: paid for untold, paid for in vain, open, or uneven between CPUs.

use record::{Answer, Finding, FlawVerdict, Record, Severity, Special};

use super::finding;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    for verdict in &record.flaws {
        if let Some(special) = verdict.special {
            found.push(paid(verdict, special));
        }
    }
    for text in &record.flaws_uneven {
        let mut uneven = finding("flaws-uneven", Severity::Warning, text.clone());
        uneven.mechanism =
            Some("a CPU without the bits or the microcode of the others lacks their workaround".into());
        uneven.remedy = Some("update firmware and microcode, then compare: sidestep flaws".into());
        found.push(uneven);
    }
    let is_open = |verdict: &&FlawVerdict| {
        verdict.special.is_none() && verdict.affected == Answer::Yes && verdict.protected == Answer::No
    };
    let open: Vec<&str> = record.flaws.iter().filter(is_open).map(|verdict| verdict.id.as_str()).collect();
    if !open.is_empty() {
        let text = format!("flaws not worked around, or only in part: {}", open.join(", "));
        let mut notice = finding("flaws-open", Severity::Notice, text);
        notice.remedy = Some("sidestep flaws show ID says what each means and what can be done".into());
        found.push(notice);
    }
}

fn paid(verdict: &FlawVerdict, special: Special) -> Finding {
    let (id, text) = match special {
        Special::PayingUntold => (
            format!("{}-paid-untold", verdict.id),
            format!("the workaround for {} is being paid for, and the kernel does not tell", verdict.id),
        ),
        Special::PayingUnprotected => (
            format!("{}-paid-unprotected", verdict.id),
            format!("the workaround for {} is being paid for, and does not protect", verdict.id),
        ),
    };
    let witnesses = &verdict.witnesses;
    let mut finding = finding(&id, Severity::Warning, text);
    finding.evidence = vec![
        format!("{}: {}", verdict.id, verdict.title),
        format!("kernel: {}", witnesses.kernel.says),
        format!("registers: {}", witnesses.registers.says),
        format!("time: {}", witnesses.time.says),
    ];
    finding.mechanism = verdict.disagreements.first().cloned();
    finding.prediction = verdict.costs.first().cloned();
    finding.remedy = (!verdict.remedies.is_empty()).then(|| verdict.remedies.join("; "));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Statement, Witnesses, WorkaroundState};

    fn verdict(id: &str, protected: Answer, special: Option<Special>) -> FlawVerdict {
        FlawVerdict {
            id: id.to_owned(),
            title: "title".into(),
            affected: Answer::Yes,
            because: String::new(),
            workaround: WorkaroundState::Unknown,
            protected,
            paid: Answer::Unknown,
            special,
            witnesses: Witnesses {
                time: Statement { says: "27.1".into(), ..Statement::default() },
                ..Witnesses::default()
            },
            disagreements: Vec::new(),
            remedies: Vec::new(),
            costs: Vec::new(),
        }
    }

    #[test]
    fn what_is_paid_or_open_is_found_and_what_is_safe_is_not() {
        let record = Record {
            flaws: vec![
                verdict("gds", Answer::Yes, Some(Special::PayingUntold)),
                verdict("mds", Answer::No, Some(Special::PayingUnprotected)),
                verdict("ssb", Answer::No, None),
                verdict("meltdown", Answer::Yes, None),
            ],
            flaws_uneven: vec!["microcode revision differs between CPUs: 0x1 on 1, 0x2 on 1".into()],
            ..Record::default()
        };
        let mut found = Vec::new();
        judge(&record, &mut found);
        let ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, ["gds-paid-untold", "mds-paid-unprotected", "flaws-uneven", "flaws-open"]);
        assert!(found[3].text.ends_with(": ssb"), "{}", found[3].text);
        assert!(found[0].evidence.iter().any(|line| line == "time: 27.1"));
    }
}
