//! `cargo evidence bill`: do bills name what is planted, rank it, add it up, and name nothing where there is nothing?
//!
//! Of simulated programs, whose noise and costs are known.

use experiments::bill::{Course, Rules, Step, program_bill};
use record::{Better, BillAmount, BillProgram, BillSetting, BillTurn, BillVerdict, ProgramBill};
use stats::{Interval, Random};

use crate::table::head;
use crate::{Broken, unless};

/// Bills of programs with known costs: named, ranked, added up; and of nothing
///
/// Twelve settings, three of them with true costs of 1, 3 and 10 %. Prints Markdown tables. Fails if a bill of twenty misses, misranks or
/// misstates a planted cost, if more than one bill of twenty names what is not there, or if more than two joint runs miss the true sum or
/// a planted interaction of 5 %.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Bills of each kind
    #[arg(long, default_value_t = 20)]
    bills: usize,
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

/// One run with these settings switched, s.
fn trial(subject: &mut Simulated, switched: &[usize]) -> f64 {
    let sum: f64 = switched.iter().map(|setting| subject.effects[*setting]).sum();
    let beyond = if switched.len() > 1 { subject.interaction } else { 0.0 };
    let value = (sum + beyond + subject.noise * subject.random.normal()).exp();
    subject.now_s += value;
    value
}

fn effects(planted: &[(usize, f64)]) -> Vec<f64> {
    let mut effects = vec![0.0; SETTINGS];
    for (place, percent) in planted {
        // The other value is faster by what the present one costs.
        effects[*place] = -(percent / 100.0).ln_1p();
    }
    effects
}

pub(crate) fn run(arguments: &Arguments) -> Broken {
    let mut broken = Broken::new();
    head(COLUMNS);
    for (noise, budget_s) in NOISES.into_iter().zip(BUDGETS_S) {
        for (name, planted, interaction) in [
            ("1, 3, 10 %", PLANTED.to_vec(), 0.0),
            ("the same, and 5 % together", PLANTED.to_vec(), (INTERACTION_PERCENT / 100.0_f64).ln_1p()),
            ("nothing", Vec::new(), 0.0),
        ] {
            let mut tally = Tally::default();
            for seed in 0..arguments.bills as u64 {
                let mut subject = Simulated::new(effects(&planted), interaction, noise, seed);
                tally.add(&priced(&mut subject, budget_s, seed), &planted, interaction);
            }
            tally.print(&format!("{:.0} %", 100.0 * noise), name);
            broken.extend(tally.judged(name, !planted.is_empty(), interaction != 0.0));
        }
    }
    broken
}

/// A bill, led to its end.
fn priced(subject: &mut Simulated, budget_s: f64, seed: u64) -> ProgramBill {
    let rules =
        Rules { settings: SETTINGS, budget_s, margin: MARGIN, seed, higher_is_better: false, programs: 1 };
    let mut course = Course::new(rules);
    let ended = loop {
        let planned = match course.step() {
            Step::Done(ended) => break ended,
            Step::Run(planned) => planned,
        };
        let switched: Vec<usize> = planned.state.members().collect();
        let value = Some(trial(subject, &switched));
        let (phase, block, ended_s) = (planned.phase, planned.block, subject.now_s);
        course.take(BillTurn { phase, block, switched, value, failure: None, ended_s });
    };
    let settings: Vec<BillSetting> = (0..SETTINGS)
        .map(|place| BillSetting { name: place.to_string(), ..BillSetting::default() })
        .collect();
    let facts = BillProgram {
        name: "program".to_owned(),
        group: String::new(),
        control: false,
        measured: "wall time".to_owned(),
        unit: "s".to_owned(),
        better: Better::Lower,
    };
    program_bill(&course, &settings, &facts, ended)
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
            .map(|entry| (entry.about.name.parse().unwrap_or(SETTINGS), entry.amount))
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

    fn judged(&self, name: &str, is_planted: bool, has_interaction: bool) -> Broken {
        let share = |of_20: usize| self.bills * of_20 / 20;
        let Self { ranked, within, joint, interaction, .. } = self;
        let few = self.false_bills <= share(FALSE_OF_20).max(1);
        let right = !is_planted || *ranked.min(within) >= share(RIGHT_OF_20);
        let sums = !is_planted || *joint >= share(JOINT_OF_20);
        let found = !has_interaction || *interaction >= share(JOINT_OF_20);
        [
            unless(few, format!("{name}: {} bills name what is not there", self.false_bills)),
            unless(right, format!("{name}: ranked {ranked}, within {within}")),
            unless(sums, format!("{name}: joint {joint}")),
            unless(found, format!("{name}: interaction {interaction}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
