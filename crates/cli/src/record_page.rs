//! A record as it is shown: its page, its document, its verdict.

use std::path::Path;

use models::interconnect::SocketAccount;
use record::{Record, Severity};
use report::{Page, shell_word};

use crate::global::Global;
use crate::outcome::Outcome;

/// The page of a record that lies there.
pub(crate) fn page(record: &Record, path: &Path) -> Page {
    let path = shell_word(&path.to_string_lossy());
    report::check_up_page(record, Some(&path), socket_account(record).as_ref())
}

/// What the models make of a record's sockets, if it has any.
pub(crate) fn socket_account(record: &Record) -> Option<SocketAccount> {
    let sockets = record.sockets.as_ref()?;
    Some(diagnosis::socket_account(sockets, Some(&record.machine)))
}

/// The record as it is printed: all but the raw windows.
pub(crate) fn without_raw(record: Record) -> Record {
    Record { raw: Vec::new(), ..record }
}

/// What `--gate` and `--strict` make of a record.
pub(crate) fn verdict(record: &Record, global: &Global) -> Outcome {
    let has = |severity| record.findings.iter().any(|finding| finding.severity == severity);
    Outcome::judged(global, has(Severity::Warning), has(Severity::Inconclusive))
}
