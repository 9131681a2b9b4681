//! `sidestep ab --across-reboot`: boots in random order, one measured at a time, and the journal between them.

mod state_files;
mod text;
mod work;

use std::path::{Path, PathBuf};

use anyhow::Context;
use experiments::ab::Subject;
use experiments::ab::across_reboot::condition::Conditions;
use experiments::ab::across_reboot::facts::BootFacts;
use experiments::ab::across_reboot::inference::subject;
use experiments::ab::across_reboot::journal::{Journal, Phase, Refusal, Work};
use experiments::ab::across_reboot::plan::{BOOTS, Plan, order};
use experiments::ab::across_reboot::visit::PATIENCE_S;
use experiments::ab::across_reboot::visit::{
    self, GivenUp, Intent, Measured, VisitError, abandon, enter, may_begin, measure, set_up,
};
use host::live;
use stats::Verdict;

use super::arguments::{AbArguments, AcrossRebootArguments};
use super::{PROBE_MARGIN_PERCENT, PROGRAM_MARGIN_PERCENT};
use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::output;
use crate::progress::ProgressLine;
use crate::recording::seed_of_now;
use crate::toggles::Described;
use state_files::{JournalFolder, UnitFile};
use text::NextBoot;
use work::{ensure_only_root_writes, pinned, probe_subject, program_subject, settle};

/// Trials of a program in each boot: the median of five is robust against two bad ones.
const PROGRAM_TRIALS: usize = 5;
/// Trials of probes, which take a fraction of a second each.
const PROBE_TRIALS: usize = 20;

/// Does what was asked for.
pub(super) fn across_reboot(arguments: &AbArguments, global: &Global) -> anyhow::Result<Outcome> {
    let asked = &arguments.across;
    if !asked.is_action() {
        return begin(arguments, global);
    }
    anyhow::ensure!(
        arguments.toggle.is_none() && arguments.a.is_none() && arguments.command.is_empty(),
        "what is compared and measured was fixed when the experiment was set up; leave it out here"
    );
    let station = Station::of(arguments)?;
    if asked.resume {
        station.resume(asked, global)
    } else if asked.abandon {
        station.abandon(global)
    } else if asked.install_unit {
        station.install_unit(global)
    } else if asked.remove_unit {
        station.remove_unit(global)
    } else {
        station.status(global)
    }
}

/// Sets an experiment up, or shows what that would be.
fn begin(arguments: &AbArguments, global: &Global) -> anyhow::Result<Outcome> {
    let asked = &arguments.across;
    anyhow::ensure!(
        arguments.toggle.is_none(),
        "a toggle needs no boot: leave out --across-reboot, or --toggle"
    );
    let words = [&arguments.a, &arguments.b].map(|words| words.as_deref().unwrap_or_default());
    let conditions = Conditions::parse(words)?;
    let work = work::work(arguments)?;
    let plan = planned(arguments, !work.command.is_empty());
    let described = Described::open(asked.sysroot.as_deref().or(asked.tree.as_deref()))?;
    let boot = BootFacts::read(&described.root, &described.machine, env!("CARGO_PKG_VERSION"));
    let station = Station::of(arguments)?;
    if asked.dry_run {
        return station.show_plan(&conditions, &plan, &work, &described, global);
    }
    if boot.boot_id.is_empty() {
        return Err(CouldNotMeasure::because(Refusal::NoBootId));
    }
    let _lock = station.place.lock()?;
    may_begin::<std::convert::Infallible>(&mut station.place.folder.clone())?;
    station.place.ensure_lasting()?;
    live::install_handlers().context("cannot listen to signals")?;
    let line = ProgressLine::new(global.quiet);
    station.settle(&plan, &line);
    let seed = plan.seed;
    let tool_version = env!("CARGO_PKG_VERSION").to_owned();
    let intent =
        Intent { conditions, plan, work: work.clone(), boot, now_utc: live::utc_now(), tool_version };
    let journal = if work.command.is_empty() {
        let (mut subject, _pinned) = probe_subject(&work, &described.machine, seed)?;
        warmed_up(&station, intent, &mut subject, line)?
    } else {
        let _pinned = pinned(&work)?;
        warmed_up(&station, intent, &mut program_subject(&work, seed)?, line)?
    };
    let Some(journal) = journal else { return Ok(interrupted()) };
    station.show_set_up(&journal, &described, global)
}

/// `None` after a signal.
fn warmed_up<S: Subject>(
    station: &Station,
    intent: Intent,
    subject: &mut S,
    mut line: ProgressLine,
) -> anyhow::Result<Option<Journal>>
where
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let journal = set_up(&mut station.place.folder.clone(), intent, subject, &mut line);
    line.end();
    match journal {
        Ok(journal) => Ok(Some(journal)),
        Err(VisitError::Interrupted) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn interrupted() -> Outcome {
    live::pending_signal().map_or(Outcome::Done, Outcome::Interrupted)
}

/// What is declared before the first boot.
fn planned(arguments: &AbArguments, runs_program: bool) -> Plan {
    let asked = &arguments.across;
    let seed = arguments.seed.unwrap_or_else(seed_of_now);
    let (trials, margin) = if runs_program {
        (PROGRAM_TRIALS, PROGRAM_MARGIN_PERCENT)
    } else {
        (PROBE_TRIALS, PROBE_MARGIN_PERCENT)
    };
    Plan {
        seed,
        order: order(asked.boots.unwrap_or(BOOTS), seed),
        trials: asked.trials.unwrap_or(trials),
        margin: arguments.margin.unwrap_or(margin) / 100.0,
        settle_s: asked.settle.map_or(PATIENCE_S, |patience| patience.as_secs_f64()),
    }
}

/// The place of an experiment and its unit.
struct Station {
    place: JournalFolder,
    unit: UnitFile,
    /// What stands for the machine in a test.
    tree: Option<PathBuf>,
    /// What has to be typed to mean this place: empty for the usual one.
    state_words: String,
    forms: Forms,
}

impl Station {
    fn of(arguments: &AbArguments) -> anyhow::Result<Self> {
        let asked = &arguments.across;
        let state_words = asked.state.as_deref().map_or_else(String::new, |path: &Path| {
            format!(" --state {}", report::shell_word(&path.display().to_string()))
        });
        Ok(Self {
            place: JournalFolder::of(asked.state.as_deref())?,
            unit: UnitFile::of(asked.unit_folder.as_deref()),
            tree: asked.tree.clone(),
            state_words,
            forms: arguments.forms.clone(),
        })
    }

    fn described(&self) -> anyhow::Result<Described> {
        Described::open(self.tree.as_deref())
    }

    /// Waits until the machine has settled; true if it did.
    fn settle(&self, plan: &Plan, line: &ProgressLine) -> bool {
        self.tree.is_some() || settle(plan.settle_s, line)
    }

    /// `--dry-run`: nothing is measured or written.
    fn show_plan(
        &self,
        conditions: &Conditions,
        plan: &Plan,
        work: &Work,
        described: &Described,
        global: &Global,
    ) -> anyhow::Result<Outcome> {
        let arm = plan.order[0];
        let next = NextBoot::of(described, conditions, arm);
        // Where the program lies on a recorded machine is not known.
        let unit = described.root.is_live().then(|| UnitFile::text(&self.place)).transpose()?;
        if global.json {
            let document = text::document(conditions, plan, Some((0, arm, &next)), unit.as_deref(), None);
            output::print_json(&document)?;
        } else if !global.quiet {
            let terminal = output::terminal(global);
            let subject = if work.command.is_empty() { "probes".to_owned() } else { work.command.join(" ") };
            output::print_lines(
                &(text::plan(conditions, plan, &subject, terminal)
                    + &text::next(0, arm, plan, conditions, &next, terminal)
                    + &text::then(&self.state_words, false, terminal)),
            )?;
            self.print_unit(unit.as_deref(), global)?;
        }
        Ok(Outcome::Done)
    }

    fn print_unit(&self, unit: Option<&str>, global: &Global) -> anyhow::Result<()> {
        let Some(text) = unit else { return Ok(()) };
        let path = self.unit.path().display().to_string();
        output::print_lines(&text::unit(text, &path, &self.state_words, output::terminal(global)))
    }

    fn show_set_up(
        &self,
        journal: &Journal,
        described: &Described,
        global: &Global,
    ) -> anyhow::Result<Outcome> {
        let unit = UnitFile::text(&self.place)?;
        if global.json || global.quiet {
            return self.standing(journal, described, global);
        }
        let terminal = output::terminal(global);
        output::print_lines(
            &(text::plan(&journal.conditions, &journal.plan, &subject(journal), terminal)
                + &text::warmup(journal, terminal)),
        )?;
        self.print_next(journal, described, global)?;
        self.print_unit(Some(&unit), global)?;
        output::print_lines(&format!("journal {}\n", self.place.journal_path().display()))?;
        Ok(Outcome::Done)
    }

    fn print_next(&self, journal: &Journal, described: &Described, global: &Global) -> anyhow::Result<()> {
        let Some((place, arm)) = journal.due().filter(|_| journal.phase == Phase::Running) else {
            return Ok(());
        };
        let terminal = output::terminal(global);
        let boot_id = described.root.read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        if journal.is_measuring(&boot_id) {
            return output::print_lines(&text::resume("next    ", &self.state_words));
        }
        let next = NextBoot::of(described, &journal.conditions, arm);
        let (conditions, plan) = (&journal.conditions, &journal.plan);
        output::print_lines(
            &(text::next(place, arm, plan, conditions, &next, terminal)
                + &text::then(&self.state_words, self.unit.is_installed(), terminal)),
        )
    }

    /// What is known: boots and next step, or the result.
    fn standing(&self, journal: &Journal, described: &Described, global: &Global) -> anyhow::Result<Outcome> {
        let found = text::found(journal);
        let page = report::reboots_page(&found);
        let is_running = journal.phase == Phase::Running;
        if global.json {
            let next = |arm| NextBoot::of(described, &journal.conditions, arm);
            let due = journal.due().filter(|_| is_running).map(|(place, arm)| (place, arm, next(arm)));
            let path = self.place.journal_path().display().to_string();
            let unit = UnitFile::text(&self.place)?;
            let document = text::document(
                &journal.conditions,
                &journal.plan,
                due.as_ref().map(|(place, arm, next)| (*place, *arm, next)),
                Some(&unit),
                Some((&path, journal)),
            );
            self.forms.print(&page, &document, global)?;
        } else {
            self.forms.print(&page, &found, global)?;
        }
        if !global.json && !global.quiet && !self.forms.words.markdown {
            self.print_next(journal, described, global)?;
            output::print_lines(&format!("journal {}\n", self.place.journal_path().display()))?;
        }
        let is_slower = found.rows.iter().any(|row| row.row.verdict == Verdict::Slower);
        let is_known = found.rows.iter().any(|row| row.row.verdict != Verdict::Inconclusive);
        Ok(Outcome::judged(global, is_slower, !is_running && !is_known))
    }

    fn status(&self, global: &Global) -> anyhow::Result<Outcome> {
        let journal = self.place.journal()?;
        self.standing(&journal, &self.described()?, global)
    }

    fn resume(&self, asked: &AcrossRebootArguments, global: &Global) -> anyhow::Result<Outcome> {
        let mut journal = self.place.journal()?;
        let described = self.described()?;
        let _lock = self.place.lock()?;
        // Between the first look and the lock another resume may have gone on.
        *journal = *self.place.journal()?;
        if asked.unattended && journal.phase == Phase::Running {
            ensure_only_root_writes(&journal.work)?;
        }
        let boot = BootFacts::read(&described.root, &described.machine, env!("CARGO_PKG_VERSION"));
        let disk = &mut self.place.folder.clone();
        let entered = enter(disk, &mut journal, &boot, &live::utc_now())
            .with_context(|| format!("cannot write {}", self.place.journal_path().display()))?;
        let index = match entered {
            Ok(index) => index,
            Err(Refusal::Finished) => {
                self.take_unit_away(global);
                return self.standing(&journal, &described, global);
            }
            Err(refusal) if asked.unattended && refusal.is_no_mistake() => {
                if refusal == Refusal::Abandoned {
                    self.take_unit_away(global);
                }
                output::say(&refusal.to_string());
                return Ok(Outcome::Done);
            }
            Err(refusal) => return Err(refusal.into()),
        };
        live::install_handlers().context("cannot listen to signals")?;
        let line = ProgressLine::new(global.quiet);
        if journal.visits[index].settled.is_none() {
            journal.visits[index].settled = Some(self.settle(&journal.plan, &line));
        }
        let work = journal.work.clone();
        let seed = journal.plan.seed.wrapping_add(index as u64);
        let measured = if work.command.is_empty() {
            let (mut subject, _pinned) = probe_subject(&work, &described.machine, seed)?;
            self.measured(&mut journal, index, &mut subject, line)?
        } else {
            let _pinned = pinned(&work)?;
            self.measured(&mut journal, index, &mut program_subject(&work, seed)?, line)?
        };
        if measured == Measured::Interrupted {
            return Ok(interrupted());
        }
        if measured == Measured::Last {
            self.take_unit_away(global);
        }
        self.standing(&journal, &described, global)
    }

    fn measured<S: Subject>(
        &self,
        journal: &mut Journal,
        index: usize,
        subject: &mut S,
        mut line: ProgressLine,
    ) -> anyhow::Result<Measured>
    where
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        let measured = measure(&mut self.place.folder.clone(), journal, index, subject, &mut line);
        line.end();
        Ok(measured?)
    }

    fn abandon(&self, global: &Global) -> anyhow::Result<Outcome> {
        if self.place.find()? == visit::StoredState::Nothing {
            self.place.journal()?;
        }
        let _lock = self.place.lock()?;
        let given_up = abandon(&mut self.place.folder.clone())
            .with_context(|| format!("cannot write {}", self.place.journal_path().display()))?;
        self.take_unit_away(global);
        match given_up {
            GivenUp::Nothing => Ok(Outcome::Done),
            GivenUp::Kept(journal) => self.standing(&journal, &self.described()?, global),
            GivenUp::SetAside(name, damaged) => {
                output::say(&format!(
                    "{damaged}; it is kept as {}",
                    self.place.folder.path().join(name).display()
                ));
                Ok(Outcome::Done)
            }
        }
    }

    fn install_unit(&self, global: &Global) -> anyhow::Result<Outcome> {
        let journal = self.place.journal()?;
        anyhow::ensure!(
            journal.phase == Phase::Running,
            "the experiment is over; there is nothing to resume"
        );
        ensure_only_root_writes(&journal.work)?;
        let text = UnitFile::text(&self.place)?;
        if !global.quiet && !global.json {
            output::print_lines(&text)?;
        }
        self.unit.install(&text, &self.place)?;
        if !global.quiet {
            output::say(&format!(
                "installed as {}; sidestep ab --remove-unit takes it away",
                self.unit.path().display()
            ));
        }
        Ok(Outcome::Done)
    }

    fn remove_unit(&self, global: &Global) -> anyhow::Result<Outcome> {
        let was_there = self.unit.remove()?;
        if !global.quiet {
            let path = self.unit.path().display();
            output::say(&if was_there { format!("removed {path}") } else { format!("there is no {path}") });
        }
        Ok(Outcome::Done)
    }

    /// After the last boot; that it cannot be taken away is no reason to lose the result.
    fn take_unit_away(&self, global: &Global) {
        match self.unit.remove() {
            Ok(true) if !global.quiet => output::say(&format!("removed {}", self.unit.path().display())),
            Ok(_) => {}
            Err(error) => output::say(&format!("{error:#}")),
        }
    }
}
