//! Runs one planned probe with its settings.

use probes::memory::{bandwidth, loaded, orders, parallel, sockets, stream, surface, walks};
use probes::plan::{PlannedProbe, ProbeSettings};
use probes::session::Session;
use probes::{clock_pairs, clocks, cores, signature};

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
        ProbeSettings::ClockPairs(settings) => {
            clock_pairs::check_up::run(session, settings).map_err(|e| text(&e))
        }
        ProbeSettings::Signatures(settings) => {
            signature::check_up::run(session, settings);
            Ok(())
        }
        ProbeSettings::Surface(settings) => {
            let cpu = surface_cpu(session);
            surface::run(session, cpu, settings).map_err(|e| text(&e))
        }
        ProbeSettings::Bandwidth(settings) => bandwidth::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Stream(settings) => stream::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Walks(settings) => walks::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Orders(settings) => orders::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Parallel(settings) => parallel::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Loaded(settings) => loaded::run(session, settings).map_err(|e| text(&e)),
        ProbeSettings::Sockets(settings) => sockets::run(session, settings).map_err(|e| text(&e)),
    }
}

/// Surfaces are measured on the last CPU: interrupts go to the first ones on most machines.
fn surface_cpu(session: &Session<'_>) -> machine::CpuId {
    *session.cpus.last().expect("a session has at least one CPU")
}
