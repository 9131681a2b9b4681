//! The document of a bill: what every setting and mitigation costs a program, ranked, and what all of them cost together.
//!
//! `experiments` fills it, `report` renders it.

use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::{Better, DocumentHead};

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const BILL_SCHEMA: u32 = 1;

/// The bills of one program or of several.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bill {
    #[serde(flatten)]
    pub head: DocumentHead,
    /// One bill for each program.
    pub programs: Vec<ProgramBill>,
    /// Of several programs: averages over all, by group, and without one.
    pub averages: Vec<BillAverage>,
    /// Of several programs: what each setting costs on average over them.
    pub settings: Vec<BillSettingAverage>,
    /// What could not be switched here, or not without consent.
    pub skipped: Vec<SkippedSetting>,
    /// What only a boot can switch: complete commands.
    pub boot_commands: Vec<String>,
}

/// What is known of a program before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillProgram {
    /// The command, or the name of the workload.
    #[serde(rename = "program")]
    pub name: String,
    /// What averages are taken by; empty for a single program.
    pub group: String,
    /// True if no setting of memory or kernel can move it.
    pub control: bool,
    /// What is measured: `wall time`, `CPU time` or a metric.
    pub measured: String,
    /// Its unit; may be empty for a metric.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
}

/// What settings cost one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramBill {
    #[serde(flatten)]
    pub about: BillProgram,
    /// Median with everything as it is.
    pub as_is: Option<f64>,
    /// Median with all recommended changes; `None` where fewer than one is recommended.
    pub recommended: Option<f64>,
    /// What one run of the program spreads by, in percent: standard deviation of its logarithm within blocks.
    pub noise_percent: Option<f64>,
    /// Every setting, the most expensive first.
    pub entries: Vec<BillEntry>,
    /// What all recommended changes are worth, measured together; or the only one.
    pub joint: Option<BillAmount>,
    /// What the joint run showed beyond the sum of the single costs, in percent; `None` without a joint run.
    pub remainder: Option<BillAmount>,
    /// Why it ended.
    pub ended: BillEnded,
    /// Runs of the program.
    pub runs: usize,
    /// Every run in the order taken.
    pub turns: Vec<BillTurn>,
}

/// A cost with its interval. Costs are what the present state takes beyond the other, in percent of the other: 10 means that the program
/// runs 10 % longer than it would.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillAmount {
    /// Percent.
    pub cost_percent: f64,
    /// 95 %; of several settings, of all of them at once.
    pub interval: Interval,
}

/// What was found of one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BillVerdict {
    /// The present value costs: the other one is faster, confirmed with fresh runs.
    Costs,
    /// The present value is the faster one, confirmed with fresh runs.
    Saves,
    /// No cost was shown.
    NotShown,
    /// Any cost is smaller than the margin.
    BelowMargin,
    /// The program does not work with the other value.
    Fails,
}

/// What stays the same about a setting.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillSetting {
    /// Name of the toggle.
    #[serde(rename = "setting")]
    pub name: String,
    /// What it switches.
    pub title: String,
    /// The value that holds now.
    pub now: String,
    /// The value it was compared with.
    pub other: String,
    /// Risk class of the other value, such as S1.
    pub risk: String,
    /// What is exposed with the other value, and to whom; empty for nothing.
    pub exposes: String,
    /// True if a mitigation is on for a CPU that is not affected; `None` if that is unknown or no mitigation.
    pub needless: Option<bool>,
    /// How to switch it for good: a command, or a word of the kernel's command line.
    pub how: String,
}

/// One line of the bill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillEntry {
    #[serde(flatten)]
    pub about: BillSetting,
    /// What was found.
    pub verdict: BillVerdict,
    /// The cost of the present value; `None` if the program never ran with the other.
    pub amount: Option<BillAmount>,
    /// The chance of so large a difference from nothing, adjusted for all settings at once.
    pub p: Option<f64>,
    /// The smallest cost that four of five bills like this one would have shown.
    pub smallest_percent: Option<f64>,
    /// How runs with the other value failed, and how many of how many.
    pub failure: Option<String>,
    /// Runs with the other value.
    pub runs: usize,
}

/// An average of the differences of several programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillAverage {
    /// `all`, a group, or `without:GROUP`.
    pub group: String,
    /// Mean of the symmetric differences of what is as it is and as recommended, in percent.
    pub symmetric_percent: f64,
    /// What that would be if nothing differed, from the noise of the runs.
    pub floor_percent: f64,
    /// Programs in it.
    pub programs: usize,
}

/// What a setting costs on average over several programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillSettingAverage {
    /// Name of the toggle.
    pub setting: String,
    /// The geometric mean over the programs; its interval stands on how much the programs differ, and holds all settings at once.
    pub amount: BillAmount,
    /// Programs in it.
    pub programs: usize,
}

/// A setting that took no part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedSetting {
    /// Name of the toggle.
    pub setting: String,
    /// Why, and what to do if anything helps.
    pub why: String,
}

/// Why a bill ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BillEnded {
    /// Every question is answered within the margin.
    Answered,
    /// The time was up.
    TimeUp,
    /// Interrupted; `bill --resume` goes on.
    Interrupted,
    /// The program does not work as things are.
    Failing,
}

/// Which part of a bill a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BillPhase {
    /// The present state: counts for nothing, but shows whether the program works and how long it takes.
    WarmUp,
    /// All settings against the present state.
    Screening,
    /// Fresh runs of what seemed to matter.
    Confirming,
    /// All recommended changes at once against the present state.
    Joint,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BillTurn {
    /// Which part it belongs to.
    pub phase: BillPhase,
    /// Its block within all blocks of the bill.
    pub block: usize,
    /// Places of the settings that had their other value; none with everything as it is.
    pub switched: Vec<usize>,
    /// What was measured; `None` if it failed.
    pub value: Option<f64>,
    /// How it failed.
    pub failure: Option<String>,
    /// Seconds of measuring at its end.
    pub ended_s: f64,
}
