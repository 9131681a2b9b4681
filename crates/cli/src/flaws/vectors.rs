//! `sidestep flaws --vectors` and `--for`: attack vectors of a machine, and the words for a use.

use ::flaws::{Advice, Purpose, VectorTable, catalogue, unmet};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use record::Protection;
use serde_json::json;

use super::{Examined, FlawArguments, SCHEMA, outcome};
use crate::options::Global;
use crate::outcome::Outcome;

/// The uses by their names.
pub(super) fn uses() -> impl TypedValueParser<Value = Purpose> {
    let find = |name: String| Purpose::ALL.into_iter().find(|purpose| purpose.name() == name);
    PossibleValuesParser::new(Purpose::ALL.map(Purpose::name))
        .map(move |name| find(name).expect("clap lets no other through"))
}

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
