//! What would be if the machine were made otherwise: other links, a snoop filter, another clock.

use machine::Hertz;

use super::description::SocketMachine;
use super::graph::LinkError;
use super::latency::Coherence;

/// Changes to a machine; none by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Variant {
    /// Links that are not there.
    pub add: Vec<[usize; 2]>,
    /// Links that are there.
    pub remove: Vec<[usize; 2]>,
    /// A directory at each home, so that local reads ask nobody.
    pub snoop_filter: bool,
    /// Another clock of the cores.
    pub core_hz: Option<Hertz>,
}

/// Why a machine cannot be changed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariantError {
    /// A link that cannot be.
    #[error("{0}")]
    Link(#[from] LinkError),
    /// To be added, and there.
    #[error("the link {0}-{1} is there already; leave it out")]
    Present(usize, usize),
    /// To be removed, and not there.
    #[error("there is no link {0}-{1} to remove")]
    Absent(usize, usize),
    /// No way is left between some sockets.
    #[error("some sockets can no longer reach others; leave a link between them")]
    Disconnected,
    /// Nothing is known of reads that ask nobody.
    #[error("what a read takes that asks nobody is unknown for this machine; give dram_ns in its file")]
    FilterUnknown,
}

impl Variant {
    /// Whether anything is changed.
    pub fn is_change(&self) -> bool {
        *self != Self::default()
    }

    /// The machine as it would be.
    ///
    /// # Errors
    /// What it cannot be.
    pub fn of(&self, machine: &SocketMachine) -> Result<SocketMachine, VariantError> {
        let mut changed = machine.clone();
        let mut graph = machine.graph();
        for &[from, to] in &self.add {
            graph.check(from, to)?;
            if graph.is_linked(from, to) {
                return Err(VariantError::Present(from, to));
            }
            graph.set(from, to, true);
        }
        for &[from, to] in &self.remove {
            graph.check(from, to)?;
            if !graph.is_linked(from, to) {
                return Err(VariantError::Absent(from, to));
            }
            graph.set(from, to, false);
        }
        if graph.hops().is_none() {
            return Err(VariantError::Disconnected);
        }
        changed.links.value = graph.links();
        if self.snoop_filter {
            if machine.dram_ns.is_none() {
                return Err(VariantError::FilterUnknown);
            }
            changed.coherence.value = Coherence::ProbeFilter;
        }
        if let Some(core_hz) = self.core_hz {
            changed.core_hz.value = core_hz;
        }
        Ok(changed)
    }

    /// The changes in words.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.snoop_filter.then(|| "a snoop filter".to_owned()).into_iter().collect();
        words.extend(self.add.iter().map(|[from, to]| format!("a link {from}-{to} more")));
        words.extend(self.remove.iter().map(|[from, to]| format!("no link {from}-{to}")));
        words.extend(self.core_hz.map(|hertz| format!("cores at {} GHz", hertz.0 / 1e9)));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_changed_is_an_error() {
        let machine: SocketMachine = crate::known("x6440-8380").expect("it comes with sidestep");
        let message = |variant: Variant| variant.of(&machine).expect_err("impossible").to_string();
        assert!(message(Variant { add: vec![[0, 1]], ..Variant::default() }).contains("there already"));
        assert!(message(Variant { add: vec![[0, 9]], ..Variant::default() }).contains("0 to 3"));
        assert!(message(Variant { remove: vec![[0, 3]], ..Variant::default() }).contains("no link 0-3"));
        let cut = Variant { remove: vec![[0, 1], [0, 2]], ..Variant::default() };
        assert!(message(cut).contains("can no longer reach"));
        let mut bare = machine.clone();
        bare.dram_ns = None;
        let filter = Variant { snoop_filter: true, ..Variant::default() };
        assert_eq!(filter.of(&bare), Err(VariantError::FilterUnknown));
        assert!(!Variant::default().is_change());
    }
}
