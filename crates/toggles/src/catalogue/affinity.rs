//! CPU affinity of a thread and what it starts.

use std::time::Duration;

use host::live::{ProcessSetting, allowed_cpus};

use crate::process_toggle::{Asks, Choice, ProcessToggle};
use crate::{About, Availability, Lifetime, Risk};

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "affinity",
        title: "CPU affinity of a process",
        does: "Keeps a process and its threads on one CPU, the first it may use, or leaves them to the scheduler. It spares \
               moves between caches, and costs programs with more than one thread.",
        needs: &["two CPUs that the process may use"],
        risk: Risk::Process,
        opens: "",
        lifetime: Lifetime::Process,
        settle: Duration::ZERO,
        source: "sched_setaffinity(2)",
    },
    available: |_| {
        if allowed_cpus().len() < 2 {
            return Availability::missing("the process may use only one CPU", "widen its cpuset");
        }
        Availability::Available
    },
    now: |_| Some(if allowed_cpus().len() == 1 { "one" } else { "all" }),
    choices: &[
        Choice {
            name: "all",
            means: "every CPU that it may use",
            asks: |_| Asks::Settings(vec![ProcessSetting::Affinity(allowed_cpus())]),
        },
        Choice {
            name: "one",
            means: "the first CPU that it may use",
            asks: |_| {
                Asks::Settings(vec![ProcessSetting::Affinity(allowed_cpus().first().into_iter().collect())])
            },
        },
    ],
};
