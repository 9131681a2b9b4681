//! The CPUs that a program may use, what it could gain on them, and why there may be nothing to place.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use experiments::place::arms::Arms;
use experiments::place::arrangement::CpuSlots;
use experiments::place::decision::{Busy, CPU_SHARE_MIN, THREADS_MAX, decide};
use experiments::place::outcome::ProgramProfile;
use experiments::place::prediction::{Prediction, Unwatched};
use experiments::place::run_subject::RunSeen;
use experiments::place::thread_table::{Counted, Key};
use host::live;
use machine::CpuSet;
use probes::cores::handover::{Handovers, handovers};
use probes::plan::CpuPair;
use record::DocumentHead;

use super::Request;

/// Where threads of one program may be put: never outside of what it was given itself.
pub(super) struct Room<'a> {
    request: &'a Request<'a>,
    /// What the program may use.
    target: CpuSet,
    /// What of that sidestep may use as well.
    cpus: CpuSet,
    /// The same as slots.
    slots: CpuSlots,
    handovers: OnceCell<Result<Handovers, String>>,
}

impl<'a> Room<'a> {
    /// Of a program that may use these CPUs.
    pub(super) fn of(request: &'a Request<'a>, target: &CpuSet) -> Self {
        let cpus = target.intersection(request.allowed);
        let slots = CpuSlots::of(request.topology, &cpus);
        Self { request, target: target.clone(), cpus, slots, handovers: OnceCell::new() }
    }

    /// Why no thread of it can be put anywhere else; `None` if there are two CPUs or more.
    pub(super) fn too_small(&self) -> Option<String> {
        match self.cpus.len() {
            0 => Some(format!(
                "it may use CPUs {} only and sidestep {} only: start sidestep where the program may run",
                self.target, self.request.allowed
            )),
            1 => Some(format!("CPU {} is the only one that it may use", self.cpus)),
            _ => None,
        }
    }

    /// What is known before anything is tried; `subject` is the command or the process.
    pub(super) fn setting(&self, subject: String, census: &[Counted]) -> ProgramProfile {
        let mut created: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut threads, mut apart_threads, mut apart_busy) = (Vec::new(), 0, 0);
        for Counted { key, id, cpu_share, is_apart } in census {
            let order = created.entry(key.process).or_default();
            let is_busy = *cpu_share >= CPU_SHARE_MIN;
            if *is_apart {
                apart_threads += 1;
                apart_busy += usize::from(is_busy);
            } else if is_busy {
                threads.push(Busy {
                    key: key.clone(),
                    order: *order,
                    process: id.process,
                    thread: id.thread,
                    cpu_share: *cpu_share,
                });
            }
            *order += 1;
        }
        let uneven = |level: &&'static str| {
            format!("the CPUs at hand cut units of the level {level} unevenly, so that it is not looked at")
        };
        ProgramProfile {
            subject,
            cpus: self.target.to_string(),
            idle_threads: census.len() - threads.len() - apart_threads,
            threads,
            apart_threads,
            apart_busy,
            unseen: None,
            sharing: None,
            margin: self.request.arguments.margin / 100.0,
            head: DocumentHead {
                seed: self.request.seed,
                started_utc: live::utc_now(),
                tool_version: env!("CARGO_PKG_VERSION").to_owned(),
                notes: self.slots.left_out.iter().map(uneven).collect(),
                ..DocumentHead::default()
            },
        }
    }

    /// `plain` is a run of the command that was not watched, and what is known of such runs.
    pub(super) fn arms(&self, setting: &ProgramProfile, plain: Option<&(RunSeen, Unwatched)>) -> Arms {
        self.predicted_arms(setting, self.prediction(setting, plain))
    }

    /// The same without what they should gain.
    pub(super) fn unpredicted_arms(&self, setting: &ProgramProfile) -> Arms {
        self.predicted_arms(setting, Err(String::new()))
    }

    fn predicted_arms(&self, setting: &ProgramProfile, prediction: Result<Prediction, String>) -> Arms {
        let threads: Vec<Key> = setting.threads.iter().map(|busy| busy.key.clone()).collect();
        let is_worth = self.nothing_to_place(setting).is_none();
        let handovers = if is_worth { self.handovers().as_ref().ok() } else { None };
        let decided =
            decide(&setting.threads, &self.slots, setting.sharing.as_ref(), self.request.cores, handovers);
        Arms::of(&threads, &self.slots, decided.as_ref(), prediction)
    }

    /// What each placement should gain; the first measures what handovers cost, which takes a tenth of a second.
    fn prediction(
        &self,
        setting: &ProgramProfile,
        plain: Option<&(RunSeen, Unwatched)>,
    ) -> Result<Prediction, String> {
        if self.nothing_to_place(setting).is_some() {
            return Err(String::new());
        }
        let mut threads = setting.threads.clone();
        if let Some((seen, _)) = plain {
            for thread in &mut threads {
                let own = seen.census.iter().find(|own| own.key == thread.key);
                thread.cpu_share = own.map_or(thread.cpu_share, |own| own.cpu_share);
            }
        }
        Prediction::of(
            &threads,
            setting.sharing.as_ref(),
            &self.slots,
            self.request.cores,
            self.handovers(),
            plain.map(|(_, runs)| *runs),
        )
    }

    /// What handovers cost on this machine, measured when it is first asked.
    fn handovers(&self) -> &Result<Handovers, String> {
        self.handovers.get_or_init(|| {
            let far = self.slots.far_apart();
            handovers(CpuPair { a: far[0], b: far[1] }, self.request.seed).map_err(|error| error.to_string())
        })
    }

    /// Why there is nothing to be placed; `None` if there is.
    pub(super) fn nothing_to_place(&self, setting: &ProgramProfile) -> Option<String> {
        if let Some(why) = setting.unseen.clone().or_else(|| self.too_small()) {
            return Some(why);
        }
        match (setting.threads.len(), setting.apart_busy) {
            (0, 1..) => Some("all of its threads that are busy chose their CPUs themselves".to_owned()),
            (1, 1..) => {
                Some("all of its threads that are busy, but one, chose their CPUs themselves".to_owned())
            }
            (0, 0) => Some("no thread was seen to be busy for 2 % of the time".to_owned()),
            (1, 0) => Some("only one thread was seen to be busy for 2 % of the time".to_owned()),
            (busy, _) if busy > THREADS_MAX => {
                Some(format!("{busy} threads are busy, and more than {THREADS_MAX} are not placed"))
            }
            _ => None,
        }
    }
}
