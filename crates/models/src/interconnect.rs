//! Sockets and nodes joined by links: how far each is from each, how long a read takes, and what a core gets of memory.
//!
//! A model of a machine is a graph, latencies with their sources, and how a core streams; `simulate` says what each socket
//! gets and what other links would give.
//!
//! Left out: contention on links and in the memory controllers, several cores of a socket, prefetchers that do not snoop.

mod account;
mod contrast;
mod description;
mod firmware;
mod graph;
mod groups;
mod inference;
mod latency;
mod matrix;
mod reading;
mod simulation;
mod triad;
mod variant;

pub use account::{AccountRow, GraphUsed, MeasuredSocket, SocketAccount, account};
pub use contrast::contrast;
pub use description::{PublishedTriad, SocketMachine, StreamDescription};
pub use firmware::{
    FirmwareError, FirmwareGraph, differences, hmat_latencies, measured_by_links, northbridge_graph,
    upi_graph,
};
pub use graph::{ENUMERATED_NODES_MAX, Graph, Hops, LinkError, connected_graphs};
pub use groups::{GroupLevel, GroupsOfSize, LevelName, groups};
pub use inference::{Explanation, Inference, Mesh, RunnerUp, Verdict, infer};
pub use latency::{Coherence, ReadTimes};
pub use matrix::{MEMBERS_MAX, Matrix, MatrixError, Member, NODES_MAX, Unit};
pub use reading::{MatrixReading, ReadingError, read_matrix};
pub use simulation::{Alternative, Likeness, SocketRow, SocketSimulation, simulate};
pub use variant::{Variant, VariantError};
