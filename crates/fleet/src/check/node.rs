//! A node as it is judged: who it is, where it stands, and what disturbed it.

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) stratum: usize,
    pub(super) name: String,
    pub(super) run_id: String,
    pub(super) started_utc: String,
    pub(super) runs: usize,
    pub(super) is_two_machines: bool,
    pub(super) is_busy: bool,
    pub(super) is_guest: bool,
    pub(super) others_share: Option<f64>,
    pub(super) steal_share: Option<f64>,
    pub(super) is_partial: bool,
    pub(super) rack: Option<String>,
    pub(super) chassis: Option<String>,
    pub(super) slot: Option<String>,
}
