//! Renderings of a full, an empty and a hostile record, and of comparisons: structure, widths, escaping, sizes.

mod comparison;
mod hostile;
mod markup;
mod page;
pub(crate) mod sample;
mod simulation;
pub(crate) mod sockets;
mod text;

use models::interconnect::SocketAccount;
use record::Record;

/// The report of a record.
fn html(record: &Record, account: Option<&SocketAccount>) -> String {
    report::check_up_page(record, Some("run/record.json"), account).html()
}
