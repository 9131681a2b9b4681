//! Runs one planned probe with its settings.

use probes::memory::{bandwidth, loaded, orders, parallel, stream, surface, walks};
use probes::plan::{Depth, PlannedProbe, ProbeSettings, Share};
use probes::session::Session;
use probes::{clocks, cores};

/// Runs a probe until it is done or its deadline comes; results are in the session's record either way.
///
/// # Errors
/// One line that says why nothing could be measured.
pub(crate) fn execute(session: &mut Session<'_>, planned: &PlannedProbe) -> Result<(), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    match &planned.settings {
        ProbeSettings::Control(settings) => cores::control::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Transfer(settings) => cores::transfer::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Sharing(settings) => cores::sharing::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Compute(settings) => cores::compute::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Wake(settings) => cores::wake::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Clocks(settings) => clocks::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Surface(settings) => {
            let cpu = surface_cpu(session);
            surface::run(session, cpu, settings).map_err(|e| text(&e))
        }
        ProbeSettings::Bandwidth(share) => memory(session, *share, Memory::Bandwidth),
        ProbeSettings::Stream(share) => memory(session, *share, Memory::Stream),
        ProbeSettings::Walks(share) => memory(session, *share, Memory::Walks),
        ProbeSettings::Orders(share) => memory(session, *share, Memory::Orders),
        ProbeSettings::Parallel(share) => memory(session, *share, Memory::Parallel),
        ProbeSettings::Loaded(share) => memory(session, *share, Memory::Loaded),
    }
}

/// Surfaces are measured on the last CPU: interrupts go to the first ones on most machines.
fn surface_cpu(session: &Session<'_>) -> machine::CpuId {
    *session.cpus.last().expect("a session has at least one CPU")
}

/// The memory probes whose time comes as a share of the budget.
#[derive(Debug, Clone, Copy)]
enum Memory {
    Bandwidth,
    Stream,
    Walks,
    Orders,
    Parallel,
    Loaded,
}

/// Picks the settings of the depth, shortens them to the share, and runs.
macro_rules! run_within {
    ($session:expr, $share:expr, $module:ident) => {{
        let mut settings = match $share.depth {
            Depth::Quick => $module::Settings::quick(),
            Depth::Default => $module::Settings::check_up(),
            Depth::Full => $module::Settings::full(),
        };
        let worst_s = settings.worst_case_s($session.cpus.len(), &$session.record.machine);
        settings.budget_s = (settings.budget_s - (worst_s - $share.seconds)).max(BUDGET_MIN_S);
        $module::run($session, &settings).map_err(|error| error.to_string())
    }};
}

/// A probe that was planned gets at least this long; its deadline ends it in any case.
const BUDGET_MIN_S: f64 = 0.1;

fn memory(session: &mut Session<'_>, share: Share, probe: Memory) -> Result<(), String> {
    match probe {
        Memory::Bandwidth => run_within!(session, share, bandwidth),
        Memory::Stream => run_within!(session, share, stream),
        Memory::Walks => run_within!(session, share, walks),
        Memory::Orders => run_within!(session, share, orders),
        Memory::Parallel => run_within!(session, share, parallel),
        Memory::Loaded => run_within!(session, share, loaded),
    }
}
