//! Which settings a bill prices here: everything that can be switched at the risk that was agreed to, against what holds now.

use std::ffi::OsString;

use flaws::catalogue as flaw_catalogue;
use host::Target;
use host::live::ProcessSetting;
use record::{Answer, BillSetting, FlawVerdict, SkippedSetting, WorkaroundState};
use toggles::{Change, Pair, Risk, Switch, SystemState, Toggle, catalogue, combinable};

use super::BillArguments;
use crate::flaws::Examined;
use crate::options::shell_line;
use crate::toggles::Described;

/// A state holds one bit for each setting.
const SETTINGS_MAX: usize = u32::BITS as usize;

/// What takes part, and what does not.
pub(super) struct Chosen {
    pub(super) pairs: Vec<Pair>,
    pub(super) settings: Vec<BillSetting>,
    pub(super) skipped: Vec<SkippedSetting>,
    /// The kernel, and the words it was booted with.
    pub(super) kernel: String,
    pub(super) boot_words: String,
    /// True if the kernel mitigates a flaw by a word of its command line.
    is_mitigated_at_boot: bool,
}

/// Chooses for this machine.
pub(super) fn chosen(arguments: &BillArguments, described: &Described) -> anyhow::Result<Chosen> {
    let system = described.system_state();
    let flaws = flaw_catalogue();
    let evidence = Examined::of_this_machine(&flaws).evidence;
    let verdicts = flaws::judge(&flaws, &evidence);
    let is_mitigated_at_boot = flaws.flaws.iter().any(|flaw| {
        let at_boot = flaw.workaround.iter().any(|workaround| workaround.switch.boot.is_some());
        at_boot && verdict_of(&verdicts, &flaw.id).is_some_and(|one| one.workaround == WorkaroundState::On)
    });
    let environment = &described.machine.environment;
    let mut chosen = Chosen {
        pairs: Vec::new(),
        settings: Vec::new(),
        skipped: Vec::new(),
        kernel: environment.kernel.clone().unwrap_or_default(),
        boot_words: environment.command_line.clone().unwrap_or_default(),
        is_mitigated_at_boot,
    };
    let consent = arguments.consent.into();
    for text in texts(arguments, &system) {
        let name = text.split('=').next().unwrap_or(&text).to_owned();
        let is_named = !arguments.toggles.is_empty();
        let pair = against_now(&text, &system).and_then(|pair| {
            pair.allowed_by(&consent, &system).map_err(|why| why.to_string())?;
            chosen.ensure_fits(&pair)?;
            Ok(pair)
        });
        match pair {
            Ok(pair) => {
                let of_toggle = flaws.flaws.iter().filter(|flaw| {
                    flaw.workaround.iter().any(|one| one.switch.toggle.as_deref() == Some(&*name))
                });
                let of_toggle: Vec<&FlawVerdict> =
                    of_toggle.filter_map(|flaw| verdict_of(&verdicts, &flaw.id)).collect();
                chosen.settings.push(setting(&pair, &of_toggle));
                chosen.pairs.push(pair);
            }
            Err(why) if is_named => anyhow::bail!("{why}"),
            Err(why) => chosen.skipped.push(SkippedSetting { setting: name, why }),
        }
    }
    Ok(chosen)
}

fn verdict_of<'v>(verdicts: &'v [FlawVerdict], id: &str) -> Option<&'v FlawVerdict> {
    verdicts.iter().find(|one| one.id == id)
}

/// The settings asked for, or all that are there.
fn texts(arguments: &BillArguments, system: &SystemState) -> Vec<String> {
    if !arguments.toggles.is_empty() {
        return arguments.toggles.clone();
    }
    let is_there = |toggle: &&&dyn Toggle| toggle.availability(system).is_available();
    catalogue().iter().filter(is_there).map(|toggle| toggle.about().name.to_owned()).collect()
}

/// What holds now against the value asked for, or against the other one of the toggle's own pair.
fn against_now(text: &str, system: &SystemState) -> Result<Pair, String> {
    let plain = |error: &dyn std::fmt::Display| error.to_string();
    if text.contains('=') {
        return Pair::parse(text, system).map_err(|error| plain(&error));
    }
    let toggle = toggles::find(text).map_err(|error| plain(&error))?;
    let Some((without, with)) = toggle.default_values(system) else {
        return Err("it has only one value here".to_owned());
    };
    let now = toggle.now(system).ok_or("its present value is unknown; name both with NAME=A:B")?;
    // Of several values the last does most: what holds is seldom the first, and its lack is what costs.
    let other = if now == with { without } else { with };
    Pair::parse(&format!("{text}={now}:{other}"), system).map_err(|error| plain(&error))
}

impl Chosen {
    /// Names of the settings.
    pub(super) fn names(&self) -> Vec<String> {
        self.settings.iter().map(|setting| setting.name.clone()).collect()
    }

    /// Why nothing takes part, shortly.
    pub(super) fn reasons(&self) -> String {
        self.skipped
            .first()
            .map_or_else(|| "there is none".to_owned(), |first| format!("{}: {}", first.setting, first.why))
    }

    fn ensure_fits(&self, pair: &Pair) -> Result<(), String> {
        if matches!(pair.switches[1], Switch::Buffers(_)) {
            return Err("it does nothing to a program".to_owned());
        }
        if self.pairs.len() >= SETTINGS_MAX {
            return Err(format!("{SETTINGS_MAX} settings are enough for one bill; name it with --toggles"));
        }
        self.pairs.iter().try_for_each(|have| combinable(have, pair))
    }

    /// Complete commands for what only a boot can switch.
    pub(super) fn boot_commands(&self, command: &[OsString]) -> Vec<String> {
        if !self.is_mitigated_at_boot || command.is_empty() {
            return Vec::new();
        }
        let program = shell_line(command);
        vec![format!("sidestep ab --across-reboot --a mitigations=auto --b mitigations=off -- {program}")]
    }
}

fn setting(pair: &Pair, flaws: &[&FlawVerdict]) -> BillSetting {
    let about = pair.toggle.about();
    let exposes = if pair.values[1].risk > Risk::Disruptive { about.opens } else { "" };
    let not_affected = flaws.iter().all(|flaw| flaw.affected == Answer::No);
    BillSetting {
        name: about.name.to_owned(),
        title: about.title.to_owned(),
        now: pair.values[0].name.clone(),
        other: pair.values[1].name.clone(),
        risk: pair.values[1].risk.class().to_owned(),
        exposes: exposes.to_owned(),
        needless: (!flaws.is_empty()).then_some(not_affected),
        how: for_good(pair),
    }
}

/// How the other value is had without sidestep.
fn for_good(pair: &Pair) -> String {
    match &pair.switches[1] {
        Switch::System(changes) => match changes.as_slice() {
            [Change { target: Target::File { path }, value, .. }] => {
                let path = format!("/{}", path.trim_start_matches('/'));
                let words = [value, &path].map(|word| machine::shell_word(word));
                format!(
                    "echo {} > {} at each boot (a line `w {path} - - - - {value}` in /etc/tmpfiles.d)",
                    words[0], words[1]
                )
            }
            _ => format!(
                "sidestep toggles set {} after each boot",
                machine::shell_word(&format!("{}={}", pair.toggle.about().name, pair.values[1].name))
            ),
        },
        Switch::Process(settings) => settings.first().map_or_else(String::new, of_process),
        Switch::Buffers(_) => String::new(),
    }
}

fn of_process(setting: &ProcessSetting) -> String {
    match setting {
        ProcessSetting::GlibcTunable(name, value) => {
            format!("start the program with GLIBC_TUNABLES={name}={value}")
        }
        ProcessSetting::ForbidHugePages(true) => "prctl(PR_SET_THP_DISABLE, 1) in the program".to_owned(),
        ProcessSetting::TimerSlackNs(slack_ns) => {
            format!("prctl(PR_SET_TIMERSLACK, {slack_ns}) in the program")
        }
        ProcessSetting::WakeLatencyUs(latency_us) => {
            format!("hold /dev/cpu_dma_latency open with the value {latency_us}")
        }
        other => format!("{} in the program or what starts it", other.what()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_now_is_the_baseline_and_no_setting_of_the_catalogue_is_lost() {
        let described = Described::open(None).expect("this machine");
        let system = described.system_state();
        for toggle in catalogue().iter().filter(|toggle| toggle.availability(&system).is_available()) {
            let name = toggle.about().name;
            match against_now(name, &system) {
                Ok(pair) => assert_eq!(Some(&pair.values[0].name), toggle.now(&system).as_ref(), "{name}"),
                Err(why) => assert!(!why.is_empty(), "{name}"),
            }
        }
    }

    #[test]
    fn a_mitigation_is_needless_only_if_every_flaw_behind_it_is_known_not_to_be_here() {
        let flaws = flaw_catalogue();
        let evidence = Examined::of_this_machine(&flaws).evidence;
        let verdict = flaws::judge(&flaws, &evidence).swap_remove(0);
        let described = Described::open(None).expect("this machine");
        let system = described.system_state();
        let pair = catalogue().iter().find_map(|toggle| against_now(toggle.about().name, &system).ok());
        let pair = pair.expect("timer slack can be switched everywhere");
        let needless = |affected: &[Answer]| {
            let all: Vec<FlawVerdict> =
                affected.iter().map(|one| FlawVerdict { affected: *one, ..verdict.clone() }).collect();
            setting(&pair, &all.iter().collect::<Vec<_>>()).needless
        };
        assert_eq!(needless(&[]), None, "it is no mitigation");
        assert_eq!(needless(&[Answer::No, Answer::No]), Some(true));
        for other in [Answer::Yes, Answer::Unknown] {
            assert_eq!(needless(&[Answer::No, other]), Some(false), "{other:?}");
        }
    }

    #[test]
    fn a_tunable_is_had_for_good_by_a_variable() {
        let text = of_process(&ProcessSetting::GlibcTunable("glibc.malloc.hugetlb", "1"));
        assert_eq!(text, "start the program with GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
    }
}
