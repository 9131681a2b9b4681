//! Attack vectors: what is open of each flaw, and the words for a use with what they leave open.

use flaws::{Advice, BY_ITS_TABLE, ExcludedVector, VectorTable};
use machine::{Machine, counted};
use record::{AttackVector, FlawVerdict, VectorState};

use super::flaws::NAMED;
use super::machine::headline;
use crate::number::{first_few, joined};
use crate::page::{Cell, Page, Section, Statement, Table, Tone};

/// What is open of each flaw.
pub fn flaw_vectors_page(machine: &Machine, table: &VectorTable) -> Page {
    let with = |state: VectorState| -> Vec<&str> {
        let has = |row: &&FlawVerdict| row.vectors.values().any(|one| *one == state);
        table.flaws.iter().filter(has).map(|row| row.id.as_str()).collect()
    };
    let (open, chosen) = (with(VectorState::Open), with(VectorState::OffByChoice));
    let count = counted(table.flaws.len(), "flaw");
    let answer = if open.is_empty() {
        Statement::good(format!(
            "{count} with attack vectors may be here: none is open on a vector that is on"
        ))
    } else {
        let named = first_few(&open, NAMED);
        Statement::look(format!("{} of {count} with attack vectors open ({named})", open.len()))
    };
    let names =
        |vectors: &[AttackVector]| joined(vectors.iter().map(|vector| vector.name().to_owned()), ", ");
    let excluded = (!table.excluded.is_empty()).then(|| {
        let off =
            if chosen.is_empty() { String::new() } else { format!("; off by choice: {}", chosen.join(", ")) };
        Statement::plain(format!("Excluded: {}{off}.", names(&table.excluded)))
    });
    let refused = |part: &String| Statement::look(format!("The kernel refuses {part:?} of mitigations=."));
    let differences = table.flaws.iter().flat_map(|row| {
        let found = row.disagreements.iter().filter(|text| text.starts_with(BY_ITS_TABLE));
        found.map(|text| Statement::look(format!("{}: {text}", row.id)))
    });
    Page {
        subject: headline(machine),
        answer,
        because: (excluded.into_iter())
            .chain(table.unsupported.iter().map(Statement::plain))
            .chain(table.refused.iter().map(refused))
            .chain(differences)
            .collect(),
        sections: states(table).section("").into_iter().collect(),
        next: vec!["Words for a use: sidestep flaws --for shared-host".to_owned()],
        ..Page::default()
    }
}

fn states(table: &VectorTable) -> Table {
    let of =
        |vector: AttackVector| move |row: &&FlawVerdict| row.vectors.get(&vector).map(|state| shown(*state));
    let [user_kernel, user_user, guest_host, guest_guest, cross_thread] = AttackVector::ALL.map(of);
    Table::of("flaw-vectors", &table.flaws)
        .word("flaw", |row| &row.id)
        .word(AttackVector::UserKernel.name(), user_kernel)
        .word(AttackVector::UserUser.name(), user_user)
        .word(AttackVector::GuestHost.name(), guest_host)
        .word(AttackVector::GuestGuest.name(), guest_guest)
        .word(AttackVector::CrossThread.name(), cross_thread)
        .legend("chosen: off by a word of the command line; asks: closed for programs that ask; empty: no such vector")
}

/// A state in one word.
fn shown(state: VectorState) -> Cell {
    let (tone, word) = match state {
        VectorState::Closed => (Tone::Good, "closed"),
        VectorState::OnRequest => (Tone::Plain, "asks"),
        VectorState::OffByChoice => (Tone::Plain, "chosen"),
        VectorState::Open => (Tone::Look, "open"),
        VectorState::Unknown => (Tone::Doubt, "unknown"),
    };
    (tone, word).into()
}

/// The words for a use, with what each excluded vector exposes.
pub fn flaw_purpose_page(machine: &Machine, advice: &Advice) -> Page {
    let excluded = Table::of("excluded-vectors", &advice.excluded)
        .word("excluded", |one| one.vector.name())
        .prose("open then", |one: &&ExcludedVector| &one.exposes)
        .prose("flaws here or perhaps", |one| {
            if one.flaws.is_empty() { "none".to_owned() } else { one.flaws.join(", ") }
        })
        .table();
    let still = advice.still_open.iter().map(|(id, fix)| {
        let fix = fix.as_ref().map_or("no fix known", String::as_str);
        Statement::look(format!("{id} stays open: {fix}."))
    });
    let smt = (!advice.smt_off_for.is_empty()).then(|| {
        let flaws = advice.smt_off_for.join(", ");
        Statement::plain(format!(
            "Sibling threads stay open; auto,nosmt in place of auto switches SMT off for {flaws}."
        ))
    });
    let is_shared = advice.purpose == flaws::Purpose::SharedHost;
    let guests = is_shared
        .then(|| Statement::look("Keep /dev/kvm closed to users: a program that opens it is a guest."));
    Page {
        subject: format!("{}: words for {}", headline(machine), advice.purpose.name()),
        answer: Statement::plain(&advice.words),
        because: (advice.unsupported.iter().map(Statement::look))
            .chain(still)
            .chain(guests)
            .chain(smt)
            .collect(),
        sections: vec![Section::new("excluded-vectors", "").table(excluded)],
        next: vec!["What is open now: sidestep flaws --vectors".to_owned()],
        ..Page::default()
    }
}
