//! The systemd service and timer that check once a day.
//!
//! Sources: systemd.service(5), systemd.timer(5), systemd.syntax(7).

use std::path::Path;

use crate::ab::across_reboot::unit::{NotForUnit, quoted};

/// Name of service and timer, before the dot.
pub const UNIT_NAME: &str = "sidestep-guard";

/// Both units, each after a comment that names its file: `program` is absolute, and metrics go to a file if one is named.
///
/// # Errors
/// A path that systemd could not take.
pub fn units_text(program: &Path, metrics: Option<&Path>) -> Result<String, NotForUnit> {
    let program = quoted(program)?;
    let metrics =
        metrics.map(quoted).transpose()?.map_or_else(String::new, |file| format!(" --metrics-file {file}"));
    Ok(format!(
        "# {UNIT_NAME}.service
[Unit]
Description=sidestep: whether this machine is as it was
After=multi-user.target

[Service]
Type=oneshot
ExecStart={program} guard check --gate{metrics}
# A change ends the service as failed, which systemctl --failed lists.
TimeoutStartSec=2min

# {UNIT_NAME}.timer
[Unit]
Description=sidestep: check this machine once a day

[Timer]
OnCalendar=daily
RandomizedDelaySec=1h
Persistent=true

[Install]
WantedBy=timers.target
"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_check_and_a_path_adds_no_word() {
        let text =
            units_text(Path::new("/opt/a b/sidestep"), Some(Path::new("/var/lib/m.prom"))).expect("plain");
        assert!(text.contains(
            "ExecStart=\"/opt/a b/sidestep\" guard check --gate --metrics-file \"/var/lib/m.prom\"\n"
        ));
        assert!(text.contains("OnCalendar=daily") && text.matches("[Unit]").count() == 2);
        assert!(units_text(Path::new("relative"), None).is_err());
        assert!(units_text(Path::new("/a"), Some(Path::new("/b\nExecStart=/bin/sh"))).is_err());
    }
}
