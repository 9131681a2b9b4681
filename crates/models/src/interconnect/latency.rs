//! How long a read takes between linked nodes: the slower of its data and of the last answer to its probes.
//!
//! On machines that broadcast snoops a read of memory ends when the data and the answer of every other node have arrived,
//! even if the memory is the reader's own. McCalpin published this rule of the Sun Blade X6420 of TACC Ranger
//! (sites.utexas.edu/jdm4372/2012/07/26/amd-opteron-remote-memory-latency-table).

use serde::{Deserialize, Serialize};

use super::graph::Hops;

/// Who is asked before data may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// Every other node.
    Broadcast,
    /// Only nodes that a directory at the home names; private data asks nobody.
    ProbeFilter,
}

/// The times that make up a read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadTimes {
    /// A read that waits for probes takes this, and `hop_ns` for each link of the longest way.
    pub probe_ns: f64,
    /// A read that waits for data takes this, and `hop_ns` for each link to the home and back.
    pub dram_ns: f64,
    /// One link, one way.
    pub hop_ns: f64,
}

impl ReadTimes {
    /// A read by `reader` of memory at `home`.
    pub fn read_ns(&self, hops: &Hops, coherence: Coherence, reader: usize, home: usize) -> f64 {
        let data_ns = self.dram_ns + self.hop_ns * f64::from(2 * hops.between(reader, home));
        match coherence {
            Coherence::ProbeFilter => data_ns,
            Coherence::Broadcast => {
                data_ns.max(self.probe_ns + self.hop_ns * f64::from(hops.probe_path(reader, home)))
            }
        }
    }

    /// A read by each node (row) of memory at each node (column).
    pub fn matrix_ns(&self, hops: &Hops, coherence: Coherence) -> Vec<Vec<f64>> {
        let nodes = hops.nodes();
        let row = |reader| (0..nodes).map(|home| self.read_ns(hops, coherence, reader, home)).collect();
        (0..nodes).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Graph;
    use super::*;

    #[test]
    fn the_farthest_node_of_the_home_shows_in_all_entries() {
        let times = ReadTimes { probe_ns: 66.0, dram_ns: 74.0, hop_ns: 18.0 };
        let links = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]];
        let hops = Graph::of_links(4, &links).expect("a graph").hops().expect("connected");
        let expected = [
            [138.0, 138.0, 138.0, 146.0],
            [138.0, 102.0, 120.0, 138.0],
            [138.0, 120.0, 102.0, 138.0],
            [146.0, 138.0, 138.0, 138.0],
        ];
        assert_eq!(times.matrix_ns(&hops, Coherence::Broadcast), expected);
        let filtered = times.matrix_ns(&hops, Coherence::ProbeFilter);
        assert_eq!(filtered[0], [74.0, 110.0, 110.0, 146.0]);
    }
}
