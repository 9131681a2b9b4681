//! The units of systemd: one that resumes an experiment after each boot, and a service with a timer that check once a day.
//!
//! The first says no more than "resume": what is run stands in the journal, so no word of the user is ever read by systemd or a
//! shell. Sources: systemd.service(5), systemd.timer(5), systemd.syntax(7), systemd.unit(5).

use std::path::{Path, PathBuf};

/// Name of the unit that resumes an experiment across reboots.
pub const REBOOT_UNIT: &str = "sidestep-across-reboot.service";
/// Where an administrator's units lie. Source: systemd.unit(5), "Unit File Load Path".
pub const UNIT_FOLDER: &str = "/etc/systemd/system";
/// The folder in it whose links start a unit with the system; what `systemctl enable` would make.
pub const WANTS_FOLDER: &str = "multi-user.target.wants";

/// A path that cannot stand in a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot stand in a systemd unit: it is relative, no UTF-8, or holds a dollar or a control character; choose another place"
)]
pub struct NotForUnit(pub PathBuf);

/// The text of the unit: `program` resumes what lies in `state`, both absolute.
///
/// # Errors
/// A path that systemd could not take.
pub fn unit_text(program: &Path, state: &Path) -> Result<String, NotForUnit> {
    let (program, state) = (quoted(program)?, quoted(state)?);
    Ok(format!(
        "[Unit]
Description=sidestep: measure this boot for an experiment across reboots
After=multi-user.target

[Service]
Type=oneshot
ExecStart={program} ab --resume --unattended --state {state}
StandardOutput=journal+console
StandardError=journal+console
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
"
    ))
}

/// In double quotes, with all that systemd would read in it escaped: quotes, backslashes, specifiers. A dollar is refused:
/// doubling it is right in an argument and wrong in the program's own path.
fn quoted(path: &Path) -> Result<String, NotForUnit> {
    let refused = || NotForUnit(path.to_owned());
    let text = path.to_str().ok_or_else(refused)?;
    if !path.is_absolute() || text.chars().any(|c| c.is_control() || c == '$') {
        return Err(refused());
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.extend([c, c]),
            c => quoted.push(c),
        }
    }
    Ok(quoted + "\"")
}

/// Name of service and timer, before the dot.
pub const GUARD_UNIT: &str = "sidestep-guard";

/// Both units, each after a comment that names its file: `program` is absolute, the baseline lies in `state` and metrics go to a file, if
/// these are named.
///
/// # Errors
/// A path that systemd could not take.
pub fn units_text(
    program: &Path,
    state: Option<&Path>,
    metrics: Option<&Path>,
) -> Result<String, NotForUnit> {
    let program = quoted(program)?;
    let option = |name: &str, path: Option<&Path>| {
        let path = path.map(quoted).transpose()?;
        Ok(path.map_or_else(String::new, |path| format!(" {name} {path}")))
    };
    let (state, metrics) = (option("--state", state)?, option("--metrics-file", metrics)?);
    Ok(format!(
        "# {GUARD_UNIT}.service
[Unit]
Description=sidestep: whether this machine is as it was
After=multi-user.target

[Service]
Type=oneshot
ExecStart={program} guard check --gate{state}{metrics}
# A change ends the service as failed, which systemctl --failed lists.
TimeoutStartSec=2min

# {GUARD_UNIT}.timer
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
    fn the_unit_says_resume_and_nothing_of_what_is_measured() {
        let text = unit_text(Path::new("/usr/local/bin/sidestep"), Path::new("/var/lib/sidestep"));
        assert_eq!(
            text.expect("plain paths"),
            "[Unit]
Description=sidestep: measure this boot for an experiment across reboots
After=multi-user.target

[Service]
Type=oneshot
ExecStart=\"/usr/local/bin/sidestep\" ab --resume --unattended --state \"/var/lib/sidestep\"
StandardOutput=journal+console
StandardError=journal+console
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
"
        );
    }

    #[test]
    fn a_path_cannot_add_a_word_a_line_or_a_specifier() {
        for (path, expected) in [
            ("/a b", Some("\"/a b\"")),
            ("/a\" --x", Some("\"/a\\\" --x\"")),
            ("/%h\\", Some("\"/%%h\\\\\"")),
            ("/$HOME", None),
            ("/a\nExecStart=/bin/sh", None),
            ("relative", None),
        ] {
            assert_eq!(quoted(Path::new(path)).ok().as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_units_check_and_a_path_adds_no_word() {
        let path = |text: &'static str| Some(Path::new(text));
        let program = Path::new("/opt/a b/sidestep");
        let text = units_text(program, path("/srv/g"), path("/var/lib/m.prom")).expect("plain");
        assert!(text.contains(
            "ExecStart=\"/opt/a b/sidestep\" guard check --gate --state \"/srv/g\" --metrics-file \"/var/lib/m.prom\"\n"
        ));
        let text = units_text(program, None, None).expect("plain");
        assert!(text.contains(" guard check --gate\n"), "{text}");
        assert!(text.contains("OnCalendar=daily") && text.matches("[Unit]").count() == 2);
        assert!(units_text(Path::new("relative"), None, None).is_err());
        for hostile in [path("/b\nExecStart=/bin/sh"), path("relative")] {
            assert!(
                units_text(program, None, hostile).is_err() && units_text(program, hostile, None).is_err()
            );
        }
    }
}
