//! CPU affinity of a thread and what it starts.

use host::live::{ProcessSetting, allowed_cpus};

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability};

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "affinity",
        title: "CPU affinity of a process",
        does: "Keeps a process and its threads on one CPU, the first it may use, or leaves them to the scheduler. It spares \
               moves between caches, and costs programs with more than one thread.",
        needs: &["two CPUs that the process may use"],
        source: "sched_setaffinity(2)",
        ..About::PROCESS
    },
    available: |_| {
        if allowed_cpus().len() < 2 {
            return Availability::missing("the process may use only one CPU", "widen its cpuset");
        }
        Availability::Available
    },
    now: |_| Some(if allowed_cpus().len() == 1 { "one" } else { "all" }),
    choices: &[
        Choice::named("all")
            .means("every CPU that it may use")
            .asks(|_| ProcessSetting::Affinity(allowed_cpus())),
        Choice::named("one")
            .means("the first CPU that it may use")
            .asks(|_| ProcessSetting::Affinity(allowed_cpus().first().into_iter().collect())),
    ],
};
