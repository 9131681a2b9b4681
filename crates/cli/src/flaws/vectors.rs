//! `sidestep flaws --vectors` and `--for`: attack vectors of a machine, and the words for a use.

use ::flaws::{Advice, Purpose, VectorTable, catalogue, unmet};
use record::Protection;
use serde_json::json;

use super::{Examined, FlawArguments, SCHEMA, outcome};
use crate::options::{Global, Names};
use crate::outcome::Outcome;

/// What a machine is used for.
pub(super) const USES: Names<Purpose> = &[
    (Purpose::SharedHost, Purpose::SharedHost.name(), "Programs of several people, no guests"),
    (Purpose::OwnPrograms, Purpose::OwnPrograms.name(), "Programs that are all trusted, no guests"),
    (Purpose::VmHost, Purpose::VmHost.name(), "Guests of others; programs of the host are trusted"),
];

/// Prints the table of vectors, or the words for a use.
pub(super) fn vectors(arguments: &FlawArguments, global: &Global) -> anyhow::Result<Outcome> {
    let catalogue = catalogue();
    let Examined { machine, evidence } = Examined::of(&arguments.judged, &catalogue, global)?;
    let verdicts = flaws::judge(&catalogue, &evidence);
    let identity = &machine.identity;
    let (page, document) = if let Some(purpose) = arguments.purpose {
        let advice = Advice::of(&catalogue, &evidence, &verdicts, purpose);
        let document = json!({ "schema": SCHEMA, "machine": identity, "advice": advice });
        (report::flaw_purpose_page(&machine, &advice), document)
    } else {
        let table = VectorTable::of(&catalogue, &evidence, &verdicts);
        let document = json!({ "schema": SCHEMA, "machine": identity, "vectors": table });
        (report::flaw_vectors_page(&machine, &table), document)
    };
    arguments.forms.print(&page, &document, global)?;
    let of = |state| verdicts.iter().any(|verdict| verdict.protected == state);
    let fails = verdicts.iter().any(|verdict| unmet(verdict).is_some());
    Ok(outcome(global, fails, of(Protection::OnRequest), of(Protection::Unknown)))
}
