//! `sidestep sockets explain`: measured sockets beside what one model makes of them, and why.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use diagnosis::GoodMachine;
use models::interconnect::SocketAccount;
use record::{GateVerdict, MeasuredSockets, SocketGate, SocketVerdict, Sockets, decode_sockets};
use serde::Serialize;

use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::store;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;
/// Sockets of 256 CPUs and 64 nodes have some ten megabytes.
const DOCUMENT_BYTES_MAX: u64 = 128 << 20;

/// Options of `sockets explain`.
#[derive(Debug, Clone, Args)]
pub(super) struct ExplainArguments {
    /// A record or its folder (sidestep sockets --record DIR), what sidestep sockets --json prints, or - for standard input
    record: PathBuf,
    /// Hold each socket against the record of a machine that is good, not against the other sockets
    #[arg(long, value_name = "RECORD")]
    expect: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

/// The good machine that was named, read before anything is measured.
pub(super) fn good(expect: Option<&Path>) -> anyhow::Result<Option<(String, MeasuredSockets)>> {
    expect.map(load).transpose().context("--expect")
}

/// Each socket against what is expected of it.
pub(super) fn gate(
    sockets: &Sockets,
    account: &SocketAccount,
    good: Option<&(String, MeasuredSockets)>,
) -> SocketGate {
    let good = good.map(|(name, measured)| GoodMachine { name, sockets: &measured.sockets });
    diagnosis::socket_gate(sockets, account, good)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    source: &'a str,
    #[serde(flatten)]
    account: &'a SocketAccount,
    gate: &'a SocketGate,
}

/// Explains and prints in the form asked for.
pub(super) fn explain(arguments: &ExplainArguments, global: &Global) -> anyhow::Result<Outcome> {
    let good = good(arguments.expect.as_deref())?;
    let (name, measured) = load(&arguments.record)?;
    let MeasuredSockets { sockets, machine } = measured;
    let account = diagnosis::socket_account(&sockets, machine.as_ref());
    let gate = gate(&sockets, &account, good.as_ref());
    let document = Document { schema: SCHEMA, source: &name, account: &account, gate: &gate };
    let page = report::socket_account_page(&account, &gate, &sockets, &name);
    arguments.forms.print(&page, &document, global)?;
    let is_known = account.graph.is_some()
        && sockets.verdict != SocketVerdict::Inconclusive
        && gate.verdict != GateVerdict::Inconclusive;
    Ok(Outcome::judged(global, gate.verdict == GateVerdict::Outside, !is_known))
}

/// Measured sockets and what to call them.
pub(super) fn load(path: &Path) -> anyhow::Result<(String, MeasuredSockets)> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let input = std::io::stdin().lock();
        input.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
        anyhow::ensure!(
            bytes.len() as u64 <= DOCUMENT_BYTES_MAX,
            "standard input is larger than any document of sockets; give one"
        );
        ("standard input".to_owned(), bytes)
    } else {
        let (file, bytes) = store::read(path)?;
        (file_name(&file), bytes)
    };
    let measured = decode_sockets(&bytes).with_context(|| format!("cannot use {name}"))?;
    anyhow::ensure!(
        !measured.sockets.subjects.is_empty(),
        "cannot use {name}: it holds no CPU that was measured; measure with sidestep sockets --record DIR"
    );
    Ok((name, measured))
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
