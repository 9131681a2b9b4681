//! What others took while the check-up ran, and whether this instance is worse than it has been.

use record::{Area, Finding, Record, Severity};

use super::{Details, finding};

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    let Some(neighbours) = &record.neighbours else { return };
    if let Some(why) = &neighbours.give_back {
        let mut back = finding(Area::Noise, "give-back", Severity::Warning, why.clone());
        back.evidence.clone_from(&neighbours.shows);
        back.mechanism = Some(
            "a neighbour that stays, or a worse host: one run cannot tell them apart, and both last longer than it".to_owned(),
        );
        back.remedy = Some("run again in an hour; sidestep history shows each run".to_owned());
        found.push(back);
    }
    if let (Some(first), false) = (neighbours.shows.first(), neighbours.at_work.is_empty()) {
        found.push(
            finding(Area::Noise, "neighbours", Severity::Notice, first.clone())
                .showing(neighbours.shows.iter().skip(1).cloned())
                .fixed_by("each row's value by epoch is in the record; run again at a quieter time"),
        );
    }
}

#[cfg(test)]
mod tests {
    use record::Neighbours;

    use super::*;

    #[test]
    fn evidence_for_giving_back_is_a_warning_and_a_quiet_run_no_finding() {
        let judged = |neighbours: Option<Neighbours>| {
            let mut found = Vec::new();
            judge(&Record { neighbours, ..Record::default() }, &mut found);
            found.iter().map(|finding| (finding.id.clone(), finding.severity)).collect::<Vec<_>>()
        };
        let shows = vec!["neighbours were at work in epoch 2 of 3: steal 4.0 %".to_owned()];
        let quiet = Neighbours { shows: vec!["no sign of neighbours".to_owned()], ..Neighbours::default() };
        assert!(judged(None).is_empty() && judged(Some(quiet)).is_empty());
        let busy = Neighbours { shows, at_work: vec![2], ..Neighbours::default() };
        assert_eq!(judged(Some(busy.clone())), [("neighbours".to_owned(), Severity::Notice)]);
        let back = Neighbours { give_back: Some("there is reason".to_owned()), ..busy };
        assert_eq!(judged(Some(back)).len(), 2);
    }
}
