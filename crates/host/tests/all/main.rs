//! Machines read from recordings, good and bad.

mod apic_ids;
mod flaw_sources;
mod hostile;
mod synthetic;
mod zoo;
