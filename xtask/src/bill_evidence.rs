//! `cargo xtask bill-evidence`: do bills name what is planted, rank it, add it up, and name nothing where there is nothing?
//!
//! Simulated programs first, whose noise and costs are known; with `--live` a program that really runs, with settings that do nothing
//! or are planted by rounds, beside load.

mod kills;

use std::ffi::OsString;

use experiments::ab::command_subject::{CommandSubject, HowToRun, Program};
use experiments::ab::switcher::Switcher;
use experiments::ab::{self, GuardSpec, Progress, RowSpec, Standing, Subject, Trial};
use experiments::bill::{Course, ProgramFacts, Rules, Setting, Step, program_bill};
use record::{Better, BillAmount, BillEnded, BillPhase, BillTurn, BillVerdict, ProgramBill};
use stats::{Cell, Factors, Interval, Random};

use crate::cargo;
use crate::load;
use crate::table::head;
use crate::totals::Totals;

/// Bills of programs with known costs: named, ranked, added up; and of nothing
///
/// Twelve settings, three of them with true costs of 1, 3 and 10 %. Prints Markdown tables. Fails if a bill of twenty misses, misranks or
/// misstates a planted cost, if more than one bill of twenty names what is not there, if more than two joint runs miss the true sum or a
/// planted interaction of 5 %, or if a bill takes more than 0.6 of the runs of one ab for each setting at equal width.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Bills of each kind
    #[arg(long, default_value_t = 20)]
    bills: usize,
    /// A program that runs in place of simulated ones: settings that do nothing
    #[arg(long)]
    live: bool,
    /// With --live: seconds of each bill
    #[arg(long, default_value_t = 40.0)]
    seconds: f64,
    /// With --live: threads of load meanwhile
    #[arg(long, default_value_t = 0)]
    load: usize,
    /// Instead: kill and resume so many bills that switch settings of this machine (root)
    #[arg(long)]
    kills: Option<usize>,
}

/// Settings of a bill.
const SETTINGS: usize = 12;
/// Places and true costs in percent of those that cost something.
const PLANTED: [(usize, f64); 3] = [(3, 1.0), (6, 3.0), (9, 10.0)];
/// What two of them do beyond their sum, in percent.
const INTERACTION_PERCENT: f64 = 5.0;
/// Noise of one run: a program of seconds on a quiet machine. Source: the goal for workloads, 3 %, and a third of it.
const NOISES: [f64; 2] = [0.01, 0.03];
/// Runs of a second that fit into a bill, by noise: three times the noise takes nine times the runs.
const BUDGETS_S: [f64; 2] = [1200.0, 10_800.0];
/// Of twenty: bills that may name what is not there, and bills that have to be right.
const FALSE_OF_20: usize = 1;
const RIGHT_OF_20: usize = 19;
const JOINT_OF_20: usize = 18;
/// Share of the runs of one experiment for each setting.
const RUNS_SHARE_MAX: f64 = 0.6;
/// Rounds of the live program: about 20 ms at 3 GHz.
const ROUNDS: u64 = 312_500;
/// What the tables show.
const COLUMNS: &str = "noise or load | planted | bills | all named and ranked | within their intervals | name what is not there | joint holds the sum | interaction found | runs, median";
/// Costs within this are of no matter.
const MARGIN: f64 = 0.01;

/// A program of a second with noise, whose time each setting's other value changes.
struct Simulated {
    effects: Vec<f64>,
    /// What more than one of them do beyond their sum.
    interaction: f64,
    noise: f64,
    random: Random,
    now_s: f64,
}

impl Simulated {
    fn new(effects: Vec<f64>, interaction: f64, noise: f64, seed: u64) -> Self {
        Self { effects, interaction, noise, random: Random::for_stream(seed, 1), now_s: 0.0 }
    }
}

impl Subject for Simulated {
    type Error = std::convert::Infallible;

    fn rows(&self) -> Vec<RowSpec> {
        vec![RowSpec {
            name: "wall time".to_owned(),
            group: "program".to_owned(),
            unit: "s".to_owned(),
            better: Better::Lower,
            moved_by: Factors::ALL,
            zero: "",
        }]
    }

    fn guards(&self) -> Vec<GuardSpec> {
        Vec::new()
    }

    fn trial(&mut self, state: Cell) -> Result<Trial, Self::Error> {
        let switched = (0..self.effects.len()).filter(|setting| Factors::only(*setting).are_set(state));
        let (count, sum) =
            switched.fold((0, 0.0), |(count, sum), setting| (count + 1, sum + self.effects[setting]));
        let beyond = if count > 1 { self.interaction } else { 0.0 };
        let value = (sum + beyond + self.noise * self.random.normal()).exp();
        self.now_s += value;
        Ok(Trial { values: vec![value], guards: Vec::new(), failure: None })
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s
    }

    fn must_stop(&self) -> bool {
        false
    }
}

/// `cargo xtask bill-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cfg!(debug_assertions) {
        return cargo::again_in_release();
    }
    match (arguments.kills, arguments.live) {
        (Some(kills), _) => kills::run(kills),
        (None, true) => {
            load::beside(arguments.load, || live(arguments.bills, arguments.seconds, arguments.load))
        }
        (None, false) => simulated(arguments.bills),
    }
}

fn effects(planted: &[(usize, f64)]) -> Vec<f64> {
    let mut effects = vec![0.0; SETTINGS];
    for (place, percent) in planted {
        // The other value is faster by what the present one costs.
        effects[*place] = -(percent / 100.0).ln_1p();
    }
    effects
}

fn simulated(bills: usize) -> anyhow::Result<Totals> {
    let mut totals = Totals::default();
    head(COLUMNS);
    for (noise, budget_s) in NOISES.into_iter().zip(BUDGETS_S) {
        for (name, planted, interaction) in [
            ("1, 3, 10 %", PLANTED.to_vec(), 0.0),
            ("the same, and 5 % together", PLANTED.to_vec(), (INTERACTION_PERCENT / 100.0_f64).ln_1p()),
            ("nothing", Vec::new(), 0.0),
        ] {
            let mut tally = Tally::default();
            for seed in 0..bills as u64 {
                let mut subject = Simulated::new(effects(&planted), interaction, noise, seed);
                tally.add(&priced(&mut subject, budget_s, seed)?, &planted, interaction);
            }
            tally.print(&format!("{:.0} %", 100.0 * noise), name);
            totals.add(tally.judged(name, !planted.is_empty(), interaction != 0.0));
        }
    }
    totals.add(against_ab(bills)?);
    Ok(totals)
}

/// A bill, led to its end.
fn priced<S: Subject>(subject: &mut S, budget_s: f64, seed: u64) -> Result<ProgramBill, S::Error> {
    let rules =
        Rules { settings: SETTINGS, budget_s, margin: MARGIN, seed, higher_is_better: false, programs: 1 };
    let mut course = Course::new(rules);
    let ended = loop {
        let planned = match course.step() {
            Step::Done(ended) => break ended,
            Step::Run(planned) => planned,
        };
        let trial = subject.trial(planned.into())?;
        course.take(BillTurn {
            phase: planned.phase,
            block: planned.block,
            switched: planned.state.members().collect(),
            value: trial.values.first().copied(),
            failure: trial.failure,
            ended_s: subject.elapsed_s(),
        });
    };
    let settings: Vec<Setting> =
        (0..SETTINGS).map(|place| Setting { name: place.to_string(), ..Setting::default() }).collect();
    let facts = ProgramFacts {
        name: "program".to_owned(),
        group: String::new(),
        control: false,
        measured: "wall time".to_owned(),
        unit: "s".to_owned(),
        better: Better::Lower,
    };
    Ok(program_bill(&course, &settings, &facts, ended))
}

/// What bills of one kind showed.
#[derive(Default)]
struct Tally {
    bills: usize,
    ranked: usize,
    within: usize,
    false_bills: usize,
    joint: usize,
    interaction: usize,
    runs: Vec<f64>,
}

impl Tally {
    fn add(&mut self, bill: &ProgramBill, planted: &[(usize, f64)], interaction: f64) {
        let is_named = |verdict: BillVerdict| matches!(verdict, BillVerdict::Costs | BillVerdict::Saves);
        let named: Vec<(usize, Option<BillAmount>)> = bill
            .entries
            .iter()
            .filter(|entry| is_named(entry.verdict))
            .map(|entry| (entry.setting.parse().unwrap_or(SETTINGS), entry.amount))
            .collect();
        let mut by_cost: Vec<(usize, f64)> = planted.to_vec();
        by_cost.sort_by(|a, b| b.1.total_cmp(&a.1));
        let is_planted = |place: usize| planted.iter().find(|(one, _)| *one == place);
        let order: Vec<usize> =
            named.iter().map(|(place, _)| *place).filter(|place| is_planted(*place).is_some()).collect();
        self.bills += 1;
        self.ranked += usize::from(order.iter().eq(by_cost.iter().map(|(place, _)| place)));
        let holds = |interval: Interval, percent: f64| interval.low <= percent && percent <= interval.high;
        self.within += usize::from(named.iter().all(|(place, amount)| {
            is_planted(*place)
                .is_none_or(|(_, percent)| amount.is_some_and(|one| holds(one.interval, *percent)))
        }));
        self.false_bills += usize::from(named.iter().any(|(place, _)| is_planted(*place).is_none()));
        // The joint run switches what the bill recommends: a planted setting that it did not name is no part of that truth, and is
        // counted as a miss above.
        let joined = planted.iter().filter(|(place, _)| order.contains(place));
        let joined: Vec<f64> = joined.map(|(_, percent)| (percent / 100.0).ln_1p()).collect();
        let sum = joined.iter().sum::<f64>() - if joined.len() > 1 { interaction } else { 0.0 };
        self.joint +=
            usize::from(bill.joint.is_some_and(|joint| holds(joint.interval, 100.0 * sum.exp_m1())));
        self.interaction += usize::from(bill.remainder.is_some_and(|one| !holds(one.interval, 0.0)));
        self.runs.push(bill.runs as f64);
    }

    fn print(&self, noise: &str, planted: &str) {
        println!(
            "| {noise} | {planted} | {} | {} | {} | {} | {} | {} | {:.0} |",
            self.bills,
            self.ranked,
            self.within,
            self.false_bills,
            self.joint,
            self.interaction,
            stats::median(&self.runs).unwrap_or(f64::NAN)
        );
    }

    fn judged(&self, name: &str, is_planted: bool, has_interaction: bool) -> Totals {
        let share = |of_20: usize| self.bills * of_20 / 20;
        let mut totals = Totals::one(
            self.false_bills <= share(FALSE_OF_20).max(1),
            format!("bill-evidence, {name}: {} bills name what is not there", self.false_bills),
        );
        if is_planted {
            let right = self.ranked.min(self.within) >= share(RIGHT_OF_20);
            totals.add(Totals::one(
                right,
                format!("bill-evidence, {name}: ranked {}, within {}", self.ranked, self.within),
            ));
            let joint = self.joint >= share(JOINT_OF_20);
            totals.add(Totals::one(joint, format!("bill-evidence, {name}: joint {}", self.joint)));
        }
        if has_interaction {
            let found = self.interaction >= share(JOINT_OF_20);
            totals
                .add(Totals::one(found, format!("bill-evidence, {name}: interaction {}", self.interaction)));
        }
        totals
    }
}

struct Unseen;

impl Progress for Unseen {
    fn standing(&mut self, _: &Standing) {}
}

/// Runs of a bill against those of one ab for each setting, led until its interval is as narrow as the bill's.
fn against_ab(bills: usize) -> anyhow::Result<Totals> {
    let (noise, budget_s) = (NOISES[0], BUDGETS_S[0]);
    let (mut of_bill, mut of_ab, mut widths) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..bills as u64 {
        let bill = priced(&mut Simulated::new(effects(&PLANTED), 0.0, noise, seed), budget_s, seed)?;
        let half_widths: Vec<f64> = bill
            .entries
            .iter()
            .filter_map(|entry| Some(entry.amount?.interval.half_width() / 100.0))
            .collect();
        let precision = stats::median(&half_widths).unwrap_or(f64::NAN);
        let mut runs = 0;
        for effect in effects(&PLANTED) {
            let mut subject = Simulated::new(vec![effect], 0.0, noise, seed);
            let rules = ab::Rules { precision, budget_s: 1e9, pairs: None, seed };
            let course = ab::run(&mut subject, &rules, &mut Unseen)?;
            runs += course.rehearsal.len() + course.twin_trials.trials.len() + course.trials.trials.len();
        }
        // The joint run answers what no single experiment asks.
        let joint = bill.turns.iter().filter(|turn| turn.phase == BillPhase::Joint).count();
        of_bill.push((bill.runs - joint) as f64);
        of_ab.push(runs as f64);
        widths.push(100.0 * precision);
    }
    let [bill, by_hand, width] =
        [&of_bill, &of_ab, &widths].map(|all| stats::median(all).unwrap_or(f64::NAN));
    println!(
        "\nRuns until intervals of ±{width:.2} %: a bill {bill:.0}, one ab for each of {SETTINGS} settings {by_hand:.0}: {:.2}",
        bill / by_hand
    );
    Ok(Totals::one(
        bill / by_hand <= RUNS_SHARE_MAX,
        "bill-evidence: runs against one ab for each setting".to_owned(),
    ))
}

/// Bills of a program that spins, whose settings do nothing.
fn live(bills: usize, seconds: f64, threads: usize) -> anyhow::Result<Totals> {
    let own = cargo::this_program()?;
    let words = [own.into_os_string(), OsString::from("spin"), OsString::from(ROUNDS.to_string())];
    let mut tally = Tally::default();
    for seed in 0..bills as u64 {
        let programs = [Program::of(words.to_vec()), Program::of(words.to_vec())];
        let mut subject =
            CommandSubject::new(programs, HowToRun::default(), None, Switcher::none(), None, seed);
        let bill = priced(&mut subject, seconds, seed)?;
        eprintln!("{}/{bills}: {} runs, noise {:?} %", seed + 1, bill.runs, bill.noise_percent);
        anyhow::ensure!(bill.ended != BillEnded::Failing, "the program does not run");
        tally.add(&bill, &[], 0.0);
    }
    head(COLUMNS);
    tally.print(&format!("{threads} threads"), "nothing");
    Ok(tally.judged("live", false, false))
}
