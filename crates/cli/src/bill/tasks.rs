//! What a bill prices: a program of the user, or workloads; each made ready only when its turn comes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use experiments::ab::command_subject::{HowToRun, Metric};
use experiments::program::Program;
use experiments::workload::prepare;
use host::cache_folder;
use host::live::ChildOutput;
use record::{Better, BillProgram};
use workloads::Workload;

use super::{BillArguments, Measured};
use crate::options::command_line;

/// One program that is priced.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) facts: BillProgram,
    source: Source,
    how: HowToRun,
    pub(super) metric: Option<Metric>,
    /// The time that counts, where it is not the program's own number.
    measure: Option<Measured>,
}

#[derive(Debug, Clone)]
enum Source {
    Command(Program),
    Workload(Box<Workload>),
}

/// A task that can be run.
pub(super) struct Ready {
    pub(super) program: Program,
    pub(super) how: HowToRun,
    /// Which of the subject's rows counts.
    pub(super) row: usize,
}

impl Task {
    /// Those that were asked for.
    pub(super) fn all(arguments: &BillArguments) -> anyhow::Result<Vec<Self>> {
        let workloads = arguments.selection.named(&arguments.workload)?;
        match (workloads.is_empty(), arguments.command.is_empty()) {
            (true, true) => anyhow::bail!(
                "give the program to price after --, as in sidestep bill -- ./program, or workloads with --suite or --workload"
            ),
            (false, false) => anyhow::bail!("price workloads, or the program after --, not both"),
            (true, false) => Ok(vec![Self::of_command(arguments)?]),
            (false, true) => {
                anyhow::ensure!(
                    arguments.program.metric.is_none() && arguments.program.prepare.is_none(),
                    "workloads have their own numbers and inputs: leave out --metric and --prepare"
                );
                Ok(workloads.into_iter().map(|one| Self::of_workload(one, arguments)).collect())
            }
        }
    }

    fn of_command(arguments: &BillArguments) -> anyhow::Result<Self> {
        let metric = arguments.program.metric()?;
        let measure = arguments.measure.unwrap_or(Measured::Wall);
        let facts = BillProgram {
            name: command_line(&arguments.command),
            group: String::new(),
            control: false,
            measured: if metric.is_some() { "metric" } else { measure.name() }.to_owned(),
            unit: if metric.is_some() { "" } else { "s" }.to_owned(),
            better: metric.as_ref().map_or(Better::Lower, |metric| metric.better),
        };
        Ok(Self {
            facts,
            source: Source::Command(Program::of(arguments.command.clone())),
            how: arguments.program.how(ChildOutput::Discard),
            metric,
            measure: Some(measure),
        })
    }

    fn of_workload(workload: Workload, arguments: &BillArguments) -> Self {
        let measure = match workload.metric {
            workloads::Metric::Time => Some(arguments.measure.unwrap_or(Measured::Wall)),
            workloads::Metric::Pattern { .. } => arguments.measure,
        };
        let (unit, better) = measure.map_or_else(|| workload.metric.unit(), |_| ("s", Better::Lower));
        let facts = BillProgram {
            name: workload.id.clone(),
            group: workload.group.clone(),
            control: workload.control,
            measured: measure.map_or("its own number", Measured::name).to_owned(),
            unit: unit.to_owned(),
            better,
        };
        let source = Source::Workload(Box::new(workload));
        Self { facts, source, how: arguments.program.how(ChildOutput::Discard), metric: None, measure }
    }

    /// What it is, for comparing with itself after an interruption: its name, and a hash of everything about it.
    pub(super) fn identity(&self) -> String {
        let mut hasher = DefaultHasher::new();
        format!("{self:?}").hash(&mut hasher);
        format!("{} {:016x}", self.facts.name, hasher.finish())
    }

    /// Seconds that a run is expected to take; programs of the user are not known before they run.
    pub(super) fn expected_s(&self) -> Option<f64> {
        match &self.source {
            Source::Command(_) => None,
            Source::Workload(workload) => Some(workload.seconds_a_turn),
        }
    }

    /// Whether the user limits how long a run may take.
    pub(super) fn has_limit(&self) -> bool {
        self.how.limit.is_some()
    }

    /// Makes its input, if it has one. A run that takes longer than `limit` is killed.
    pub(super) fn ready(&self, limit: Duration) -> anyhow::Result<Ready> {
        let mut how = self.how.clone();
        how.limit = how.limit.or(Some(limit));
        let has_number = match &self.source {
            Source::Command(_) => self.metric.is_some(),
            Source::Workload(workload) => !matches!(workload.metric, workloads::Metric::Time),
        };
        let row = match self.measure {
            Some(Measured::Cpu) => 1 + usize::from(has_number),
            Some(Measured::Wall) => usize::from(has_number),
            None => 0,
        };
        let program = match &self.source {
            Source::Command(program) => program.clone(),
            Source::Workload(workload) => {
                let prepared = prepare(workload, &cache_folder())?;
                let program = prepared.program();
                how.workload = Some(Arc::new(prepared));
                program
            }
        };
        // A metric that was asked for stands first, and is what counts.
        Ok(Ready { program, how, row: if self.metric.is_some() { 0 } else { row } })
    }
}
