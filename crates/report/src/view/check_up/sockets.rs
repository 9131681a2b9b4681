//! Sockets and nodes in the report of a check-up: the verdict, the figures, and what the page of measured sockets holds.

use models::interconnect::SocketAccount;
use record::Record;

use crate::page::{Block, Placed, Section, Statement};
use crate::view::measured_sockets;
use crate::view::socket_account::words::sentences;
use crate::{figure, plan};

/// All of it, or why there is nothing; `account` is what the models make of it.
pub(super) fn sections(record: &Record, account: Option<&SocketAccount>) -> Vec<Section> {
    let Some(measured) = &record.sockets else {
        let drawn = Err(plan::why_missing(record, &["sockets"]));
        let heading = "Are the sockets alike?".to_owned();
        let missing = Placed { name: "sockets", heading, drawn };
        return vec![Section::new("sockets", "").with(Block::Figure(Box::new(missing)))];
    };
    // With one node nothing is modelled that the verdict does not say.
    let account = account.filter(|_| !figure::sockets::is_one_node(measured));
    let answer = [measured_sockets::answer(measured)];
    let verdict = Section::new("alike", "Are the CPUs alike, each in its own memory?")
        .stating(answer.into_iter().chain(measured_sockets::because(measured)));
    let by_distance = account.and_then(|_| figure::sockets::by_distance(measured, &record.machine));
    let by_distance = by_distance.map(|by| {
        Statement::plain(format!("Measured latencies by the distance that ACPI SLIT gives: {by}."))
    });
    let distances = Section::new("distances", "").stating(by_distance);
    let why = account.map(|account| sentences(account, measured)).unwrap_or_default();
    let why = Section::new("why", "Why, by one model of all CPUs").list(why);
    let more = [distances.filled(), why.filled()].into_iter().flatten();
    [verdict].into_iter().chain(measured_sockets::sections(measured, account)).chain(more).collect()
}
