//! What runs next: the present state to warm up, blocks of all settings, fresh blocks of what seemed to matter, then all changes at once.
//!
//! A block holds every setting that still takes part once, and the baseline as often as the root of their number, which makes all
//! differences together narrowest for the runs (Dunnett 1955). The order within a block is drawn anew. Settings leave early for one
//! reason only: their cost is smaller than the margin. None is named before fresh runs, which had no part in choosing it, show it.

use std::collections::VecDeque;

use record::{BillEnded, BillPhase, BillTurn};
use stats::{BlockEffect, BlockFit, BlockRun, Cell, Factors, Order, Random};

/// Shares of the time that screening (after the warm-up) and confirming (after the screening) end at the latest. Screening has the
/// most settings, confirming few, and the joint run two states: with equal widths they take about so long. Assumed.
const SCREENING_SHARE: f64 = 0.5;
const CONFIRMING_SHARE: f64 = 0.6;
/// In the shortest bill screening takes this share: the rest has to do for fresh runs of a few settings. Assumed.
const SCREENING_SHARE_MOST: f64 = 0.7;
/// Fewer blocks than this cannot tell a change between blocks from one of a setting.
const BLOCKS_MIN: usize = 2;
/// A residual variance of fewer degrees of freedom is not trustworthy: Student's t is 3.2 with three, and 4.3 with two.
const DEGREES_MIN: usize = 3;
/// Runs of the present state before anything counts: files and caches are as after a run, and the second run tells how long one takes.
const WARM_UPS: usize = 2;
/// The first run reads files for the first time; later ones may take this share of it.
const FIRST_RUN_SHARE: f64 = 0.5;
/// A setting goes on to fresh runs where chance alone would show as much this often or less: lax, as they decide.
const CANDIDATE_P: f64 = 0.2;
/// With so many runs failed in one state, and none that worked, going on is useless.
const FAILURES_IN_VAIN: usize = 3;
/// Intervals hold all differences of all programs at once with this chance.
pub(super) const CONFIDENCE: f64 = 0.95;
/// A half-width of this share of the margin answers the question.
const PRECISION_OF_MARGIN: f64 = 0.5;
/// A phase ends before its time only with so many blocks, and so many after the first that was precise. Whoever stops at the first
/// narrow interval stops where the variance looks too small: intervals of 95 % then hold in 92 % of simulated phases, with these in 94 %.
const BLOCKS_BEFORE_AN_EARLY_END: usize = 8;
const BLOCKS_AFTER_PRECISION: usize = 4;
/// A budget that is asked for is larger than the least by this: later runs may take longer than the first.
const HEADROOM: f64 = 1.1;

/// What is declared before the first run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Settings that take part, at most 32.
    pub settings: usize,
    /// Seconds of measuring.
    pub budget_s: f64,
    /// Costs up to this are of no practical matter, as a logarithm.
    pub margin: f64,
    /// Of all random choices.
    pub seed: u64,
    /// True if a higher value is better.
    pub higher_is_better: bool,
    /// Programs that are priced together: what is said of this one holds together with what is said of the others.
    pub programs: usize,
}

impl Rules {
    /// The chance with which all intervals of this program hold (Bonferroni over the programs).
    pub(super) fn confidence(&self) -> f64 {
        1.0 - (1.0 - CONFIDENCE) / self.programs.max(1) as f64
    }

    /// Seconds in which so many settings can be judged if a run takes so long.
    pub fn least_s(settings: usize, run_s: f64) -> f64 {
        let screening = blocks_min(settings) * block_size(settings);
        run_s * (WARM_UPS as f64 + screening as f64 / SCREENING_SHARE_MOST)
    }
}

/// One run that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The part of the bill.
    pub phase: BillPhase,
    /// Its block.
    pub block: usize,
    /// The state: settings with their other value.
    pub state: Factors,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A run.
    Run(Planned),
    /// Nothing.
    Done(BillEnded),
}

/// What is known of a setting while the bill runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspect {
    /// Its place.
    pub setting: usize,
    /// Cost of the present value so far, as a logarithm.
    pub cost: f64,
}

/// Whether the time can bring an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affordable {
    /// Seconds the shortest run of the warm-up took.
    pub run_s: f64,
    /// Seconds at least.
    pub least_s: f64,
}

/// A bill under way.
#[derive(Debug, Clone)]
pub struct Course {
    /// What was declared.
    pub rules: Rules,
    /// Every run so far.
    pub turns: Vec<BillTurn>,
    random: Random,
    phase: BillPhase,
    block: usize,
    queue: VecDeque<Factors>,
    /// Blocks begun in this phase.
    blocks_of_phase: usize,
    /// Blocks of this phase when every interval was narrow enough for the first time.
    precise_at: Option<usize>,
    /// Seconds at which this phase began.
    phase_began_s: f64,
    /// Settings that still take part in the phase.
    active: Vec<usize>,
    /// Settings whose cost is below the margin.
    below_margin: Vec<usize>,
    /// Settings with which the program does not work.
    failing: Vec<usize>,
    /// Settings that went on to fresh runs.
    candidates: Vec<usize>,
    ended: Option<BillEnded>,
}

impl Course {
    /// A bill of which nothing has run.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            turns: Vec::new(),
            random: Random::new(rules.seed),
            phase: BillPhase::WarmUp,
            block: 0,
            queue: std::iter::repeat_n(Factors::NONE, WARM_UPS).collect(),
            blocks_of_phase: 0,
            precise_at: None,
            phase_began_s: 0.0,
            active: (0..rules.settings).collect(),
            below_margin: Vec::new(),
            failing: Vec::new(),
            candidates: Vec::new(),
            ended: None,
        }
    }

    /// The bill that these runs of a journal lead to; `None` if they are not what it would have run.
    pub fn resumed(rules: Rules, turns: Vec<BillTurn>) -> Option<Self> {
        let mut course = Self::new(rules);
        for turn in turns {
            let Step::Run(planned) = course.step() else { return None };
            let is_same = (planned.phase, planned.block) == (turn.phase, turn.block)
                && planned.state.members().eq(turn.switched.iter().copied());
            if !is_same {
                return None;
            }
            course.take(turn);
        }
        Some(course)
    }

    /// What is to run next. Asked again without a run in between it says the same.
    pub fn step(&mut self) -> Step {
        loop {
            if let Some(ended) = self.ended {
                return Step::Done(ended);
            }
            // A block that was begun in time is not ended after it.
            if self.phase != BillPhase::WarmUp && self.spent_s() >= self.rules.budget_s {
                self.queue.clear();
            }
            if let Some(state) = self.queue.front() {
                return Step::Run(Planned { phase: self.phase, block: self.block, state: *state });
            }
            self.block_done();
        }
    }

    /// Adds the run that [`Course::step`] asked for.
    pub fn take(&mut self, turn: BillTurn) {
        let state = self.queue.pop_front().unwrap_or(Factors::NONE);
        let failed = turn.value.is_none();
        self.turns.push(turn);
        if failed {
            self.try_again(state);
        }
    }

    /// A state in which the program never worked has three tries; then it takes no part, and if it is the present state, nothing does.
    fn try_again(&mut self, state: Factors) {
        let switched: Vec<usize> = state.members().collect();
        let mut of_state = self.turns.iter().filter(|turn| turn.switched == switched);
        let tries = of_state.clone().count();
        if of_state.any(|turn| turn.value.is_some()) {
            return;
        }
        if switched.len() > 1 {
            if tries >= FAILURES_IN_VAIN {
                self.ended = Some(BillEnded::TimeUp);
            }
        } else if tries < FAILURES_IN_VAIN {
            self.queue.push_front(state);
        } else if let Some(setting) = switched.first() {
            self.failing.push(*setting);
            self.active.retain(|one| one != setting);
        } else {
            self.ended = Some(BillEnded::Failing);
        }
    }

    /// Seconds of measuring so far.
    pub fn spent_s(&self) -> f64 {
        self.turns.last().map_or(0.0, |turn| turn.ended_s)
    }

    /// Settings with which the program does not work.
    pub fn failing(&self) -> &[usize] {
        &self.failing
    }

    /// Settings whose cost is below the margin.
    pub fn below_margin(&self) -> &[usize] {
        &self.below_margin
    }

    /// The part it is in.
    pub fn phase(&self) -> BillPhase {
        self.phase
    }

    /// What the time has to be at least, as the runs of the warm-up show; `None` before the first.
    pub fn affordable(&self) -> Option<Affordable> {
        let begun_s = |place: usize| place.checked_sub(1).map_or(0.0, |before| self.turns[before].ended_s);
        let warm = self.turns.iter().enumerate().take_while(|(_, turn)| turn.phase == BillPhase::WarmUp);
        let worked = warm.filter(|(_, turn)| turn.value.is_some());
        let lengths_s: Vec<f64> = worked.map(|(place, turn)| turn.ended_s - begun_s(place)).collect();
        let shortest_s = lengths_s.iter().copied().reduce(f64::min)?;
        let later_s = if lengths_s.len() < WARM_UPS { shortest_s * FIRST_RUN_SHARE } else { shortest_s };
        Some(Affordable {
            run_s: shortest_s,
            least_s: Rules::least_s(self.rules.settings, later_s) * HEADROOM,
        })
    }

    /// Seconds that the warm-up took; `None` before it is over.
    pub fn warm_up_s(&self) -> Option<f64> {
        if self.phase == BillPhase::WarmUp {
            return None;
        }
        let warm = self.turns.iter().take_while(|turn| turn.phase == BillPhase::WarmUp);
        warm.map(|turn| turn.ended_s).reduce(f64::max)
    }

    /// Costs so far of the settings that take part, the largest first: for whoever watches.
    pub fn standing(&self) -> Vec<Suspect> {
        let Some(fit) = self.fit(self.phase) else { return Vec::new() };
        let of = |setting: &usize| {
            let effect = fit.effects[*setting]?;
            Some(Suspect { setting: *setting, cost: -effect.difference })
        };
        let mut all: Vec<Suspect> = self.active.iter().filter_map(of).collect();
        all.order_by(|a, b| b.cost.total_cmp(&a.cost));
        all
    }

    /// When this phase ends at the latest.
    fn end_s(&self) -> f64 {
        let left_s = (self.rules.budget_s - self.phase_began_s).max(0.0);
        match self.phase {
            BillPhase::Screening => self.phase_began_s + left_s * SCREENING_SHARE,
            BillPhase::Confirming => self.phase_began_s + left_s * CONFIRMING_SHARE,
            BillPhase::WarmUp | BillPhase::Joint => self.rules.budget_s,
        }
    }

    /// Looks at what there is, and lays the next block or goes to the next phase.
    fn block_done(&mut self) {
        match self.phase {
            BillPhase::WarmUp => self.begin(BillPhase::Screening),
            BillPhase::Screening => self.screened(),
            BillPhase::Confirming => {
                let is_precise = self.is_settled(self.is_precise(&self.active));
                if !is_precise && !self.is_over() {
                    self.lay();
                } else if self.recommended().order() > 1 {
                    self.begin(BillPhase::Joint);
                } else {
                    self.end(is_precise);
                }
            }
            BillPhase::Joint => {
                let is_precise = self.is_settled(self.is_joint_precise());
                if is_precise || self.is_over() { self.end(is_precise) } else { self.lay() }
            }
        }
    }

    fn screened(&mut self) {
        if self.has_enough_blocks()
            && let Some(fit) = self.fit(BillPhase::Screening)
        {
            let is_small = |setting: &usize| self.is_negligible(&fit, *setting);
            let small: Vec<usize> = self.active.iter().copied().filter(is_small).collect();
            self.active.retain(|setting| !small.contains(setting));
            self.below_margin.extend(small);
        }
        if self.active.is_empty() {
            return self.end(true);
        }
        let is_precise = self.is_settled(self.is_precise(&self.active));
        if !is_precise && !self.is_over() {
            return self.lay();
        }
        let Some(fit) = self.fit(BillPhase::Screening) else { return self.end(false) };
        let is_candidate = |setting: &usize| {
            fit.effects[*setting].is_some_and(|effect| effect.p(fit.degrees) <= CANDIDATE_P)
        };
        self.candidates = self.active.iter().copied().filter(is_candidate).collect();
        if !self.candidates.is_empty() {
            self.active.clone_from(&self.candidates);
            self.begin(BillPhase::Confirming);
        } else if is_precise || self.ends_after(self.rules.budget_s) {
            self.end(is_precise);
        } else {
            // Nothing to confirm yet: the time of later phases is free for more of the same.
            self.lay();
        }
    }

    fn begin(&mut self, phase: BillPhase) {
        self.phase = phase;
        self.phase_began_s = self.spent_s();
        self.blocks_of_phase = 0;
        self.precise_at = None;
        if self.active.is_empty() {
            self.end(true);
        } else if self.spent_s() >= self.rules.budget_s {
            self.end(false);
        } else {
            self.lay();
        }
    }

    /// Whether the interval of a setting is inside the margin, and its difference with every run as it is, too.
    pub(super) fn is_negligible(&self, fit: &BlockFit, setting: usize) -> bool {
        fit.effects[setting].is_some_and(|effect| {
            let room = self.rules.margin - effect.difference.abs();
            fit.plain_differences[setting].abs() <= self.rules.margin
                && fit.family().is_beyond(room / effect.standard_error, self.rules.confidence())
        })
    }

    fn end(&mut self, is_precise: bool) {
        self.ended = Some(if is_precise { BillEnded::Answered } else { BillEnded::TimeUp });
    }

    /// Draws the next block.
    fn lay(&mut self) {
        self.block += 1;
        self.blocks_of_phase += 1;
        let mut states: Vec<Factors> = if self.phase == BillPhase::Joint {
            vec![Factors::NONE, self.recommended()]
        } else {
            let settings = self.active.iter().map(|setting| Factors::only(*setting));
            settings.chain(std::iter::repeat_n(Factors::NONE, baselines(self.active.len()))).collect()
        };
        self.random.shuffle(&mut states);
        self.queue.extend(states);
    }

    /// Whether there is no time for another block, and enough of them to say anything.
    fn is_over(&self) -> bool {
        let is_enough = self.spent_s() >= self.rules.budget_s || self.has_enough_blocks();
        is_enough && self.ends_after(self.end_s())
    }

    /// Whether a phase whose intervals are narrow enough now may end.
    fn is_settled(&mut self, is_precise: bool) -> bool {
        if is_precise && self.blocks_of_phase >= BLOCKS_BEFORE_AN_EARLY_END {
            self.precise_at.get_or_insert(self.blocks_of_phase);
        }
        self.precise_at
            .is_some_and(|first| is_precise && self.blocks_of_phase >= first + BLOCKS_AFTER_PRECISION)
    }

    /// Whether the blocks of this phase have a variance that can be trusted.
    fn has_enough_blocks(&self) -> bool {
        let treatments = if self.phase == BillPhase::Joint { 1 } else { self.active.len() };
        self.blocks_of_phase >= blocks_min(treatments)
    }

    /// Whether another block would end after so many seconds.
    fn ends_after(&self, end_s: f64) -> bool {
        let block = if self.phase == BillPhase::Joint { 2 } else { block_size(self.active.len()) };
        let run_s = self.spent_s() / self.turns.len().max(1) as f64;
        self.spent_s() + block as f64 * run_s > end_s
    }

    /// Whether every interval is narrow enough.
    fn is_precise(&self, settings: &[usize]) -> bool {
        if !self.has_enough_blocks() {
            return false;
        }
        let Some(fit) = self.fit(self.phase) else { return false };
        let errors = settings.iter().map(|setting| fit.effects[*setting].map(|effect| effect.standard_error));
        let widest = errors.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max));
        let precision = PRECISION_OF_MARGIN * self.rules.margin;
        widest.is_some_and(|widest| fit.family().is_beyond(precision / widest, self.rules.confidence()))
    }

    fn is_joint_precise(&self) -> bool {
        let fit = if self.has_enough_blocks() { self.joint_fit() } else { None };
        fit.is_some_and(|fit| {
            let critical = stats::student_quantile(self.rules.confidence(), fit.degrees);
            let narrow = |effect: &BlockEffect| {
                critical * effect.standard_error <= PRECISION_OF_MARGIN * self.rules.margin
            };
            fit.effects[0].as_ref().is_some_and(narrow)
        })
    }

    /// Logarithm of the cost of a run.
    fn cost_log(&self, turn: &BillTurn) -> f64 {
        let log = turn.value.filter(|value| *value > 0.0).map_or(f64::NAN, f64::ln);
        if self.rules.higher_is_better { -log } else { log }
    }

    /// The runs of a phase in which at most one setting was switched, fitted: place 0 is the first setting.
    pub(super) fn fit(&self, phase: BillPhase) -> Option<BlockFit> {
        self.fitted(phase, self.rules.settings, |switched| match switched {
            [] => Some(0),
            [one] => Some(one + 1),
            _ => None,
        })
    }

    /// The joint runs, fitted: the only treatment is all recommended changes.
    pub(super) fn joint_fit(&self) -> Option<BlockFit> {
        self.fitted(BillPhase::Joint, 1, |switched| Some(usize::from(!switched.is_empty())))
    }

    fn fitted(
        &self,
        phase: BillPhase,
        treatments: usize,
        treatment: impl Fn(&[usize]) -> Option<usize>,
    ) -> Option<BlockFit> {
        let of_phase = self.turns.iter().filter(|turn| turn.phase == phase);
        let runs: Vec<BlockRun> = of_phase
            .filter_map(|turn| {
                let treatment = treatment(&turn.switched)?;
                Some(BlockRun { treatment, block: turn.block, value: self.cost_log(turn) })
            })
            .collect();
        BlockFit::of(&runs, treatments)
    }

    /// What fresh runs confirmed, with the direction that the screening had: settings and their effects.
    pub(super) fn confirmed(&self) -> Vec<(usize, BlockEffect)> {
        let (Some(first), Some(fresh)) = (self.fit(BillPhase::Screening), self.fit(BillPhase::Confirming))
        else {
            return Vec::new();
        };
        if fresh.degrees < DEGREES_MIN as u32 {
            return Vec::new();
        }
        let family = fresh.family();
        let of = |setting: &usize| {
            let (before, now) = (first.effects[*setting]?, fresh.effects[*setting]?);
            let holds = before.difference * now.difference > 0.0
                && family.is_beyond(now.t().abs(), self.rules.confidence())
                && !self.is_negligible(&fresh, *setting);
            holds.then_some((*setting, now))
        };
        self.candidates.iter().filter_map(of).collect()
    }

    /// The confirmed changes that make the program faster.
    pub(super) fn recommended(&self) -> Factors {
        let gains = self.confirmed().into_iter().filter(|(_, effect)| effect.difference < 0.0);
        Factors::of(gains.map(|(setting, _)| setting))
    }
}

/// Runs of the baseline in a block of so many settings.
fn baselines(settings: usize) -> usize {
    ((settings as f64).sqrt().ceil() as usize).max(1)
}

/// Runs of a block.
fn block_size(settings: usize) -> usize {
    settings + baselines(settings)
}

/// Blocks of so many settings that leave enough degrees of freedom: one for each run, less one a block and one a setting.
fn blocks_min(settings: usize) -> usize {
    (settings + DEGREES_MIN).div_ceil((block_size(settings) - 1).max(1)).max(BLOCKS_MIN)
}

/// A state as the switcher takes it.
impl From<Planned> for Cell {
    fn from(planned: Planned) -> Self {
        planned.state.into()
    }
}
