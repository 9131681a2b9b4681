//! `sidestep simulate x6440-8380`: what each socket gets, why, and what other links would give.

use anyhow::Context;
use clap::Args;
use machine::Hertz;
use models::interconnect::{self, SocketMachine, Variant};

use super::{SimulateArguments, parse_clock, print};
use crate::global::Global;
use crate::outcome::Outcome;

/// Options of machines of linked sockets.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Linked sockets (x6440-8380 and its relatives)")]
pub(crate) struct SocketArguments {
    /// A link more between two sockets, such as 0-3
    #[arg(long, value_name = "A-B", value_parser = link)]
    add_link: Vec<[usize; 2]>,
    /// A link less
    #[arg(long, value_name = "A-B", value_parser = link)]
    remove_link: Vec<[usize; 2]>,
    /// The four sockets in a square, as on boards that leave links unused
    #[arg(long)]
    square: bool,
    /// A directory that spares local reads the snoops (HT Assist)
    #[arg(long)]
    snoop_filter: bool,
    /// Another clock of the cores, such as 2.7GHz
    #[arg(long, value_name = "CLOCK", value_parser = parse_clock)]
    clock: Option<Hertz>,
}

impl SocketArguments {
    /// An option that was given and belongs to such machines only.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--add-link", !self.add_link.is_empty()),
            ("--remove-link", !self.remove_link.is_empty()),
            ("--square", self.square),
            ("--snoop-filter", self.snoop_filter),
            ("--clock", self.clock.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    fn variant(&self) -> Variant {
        Variant {
            add: self.add_link.clone(),
            remove: self.remove_link.clone(),
            square: self.square,
            snoop_filter: self.snoop_filter,
            core_hz: self.clock,
        }
    }
}

/// Simulates and prints in the form asked for.
pub(super) fn simulate(
    machine: &SocketMachine,
    arguments: &SimulateArguments,
    global: &Global,
) -> anyhow::Result<Outcome> {
    let siblings = if arguments.fit { Some(siblings(machine)?) } else { None };
    let variant = arguments.sockets.variant();
    let simulation = interconnect::simulate(machine, &variant, siblings.as_deref())?;
    print(&simulation, &report::linked_sockets_page(&simulation), arguments, global)
}

/// The machines whose published numbers are fitted together with those of this one.
fn siblings(machine: &SocketMachine) -> anyhow::Result<Vec<SocketMachine>> {
    let published = machine.published.len();
    anyhow::ensure!(
        published > 2 && machine.stream.is_some(),
        "--fit: {} holds {published} published numbers; the two parameters need three or more",
        machine.name
    );
    let sibling = |name: &String| {
        models::known(name).with_context(|| {
            format!("{}: the sibling {name:?} is no machine that comes with sidestep", machine.name)
        })
    };
    machine.siblings.iter().map(sibling).collect()
}

/// Reads `0-3`.
fn link(text: &str) -> Result<[usize; 2], String> {
    let ends = text.split_once('-');
    let ends = ends.and_then(|(from, to)| Some([from.trim().parse().ok()?, to.trim().parse().ok()?]));
    ends.ok_or_else(|| "give two sockets such as 0-3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_two_sockets() {
        assert_eq!(link("0-3"), Ok([0, 3]));
        for text in ["", "3", "0-", "a-b", "0-3-1", "-1-2", "0-99999999999999999999"] {
            assert!(link(text).is_err(), "{text}");
        }
    }
}
