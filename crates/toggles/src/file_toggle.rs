//! Toggles that are files of sysfs, procfs or debugfs: one parametrised implementation, so that a file of the
//! catalogue is a table.

use host::Target;

use crate::{About, Availability, Change, Risk, Switch, SwitchError, SystemState, Toggle, User, Value};

/// How the value stands in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// The text of the file, or its word in brackets.
    Text,
    /// One word of a list, alone or after `NO_`.
    Word(&'static str),
    /// The line after `KEY:`.
    Line(&'static str),
}

/// One value of a file toggle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// What the user types.
    pub(crate) name: &'static str,
    /// What is written, or whose text is.
    pub(crate) text: &'static str,
    /// What it means.
    pub(crate) means: &'static str,
}

/// Where the values come from. The first of those that are named has the risk of the toggle, all others are reversible.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Settings {
    /// `off` and `on`, each with what is written and what it means.
    OffOn { off: (&'static str, &'static str), on: (&'static str, &'static str) },
    /// Always the same.
    Fixed(&'static [Setting]),
    /// The texts of other files in the same folder, such as the lowest frequency of a policy.
    TextsOf(&'static [Setting]),
    /// The words of a file in the same folder, with the meaning all share.
    ListedIn(&'static str, &'static str),
    /// Made from what the file holds now, or none.
    Derived(fn(&str) -> Vec<Value>),
}

/// A toggle that is one file, or one file per CPU, policy or socket.
pub(crate) struct FileToggle {
    /// What stays the same.
    pub(crate) about: About,
    /// The files, without leading slash; `*` stands for a number.
    pub(crate) files: &'static [&'static str],
    /// How the value stands there.
    pub(crate) form: Form,
    /// The values, the state without first.
    pub(crate) settings: Settings,
    /// What would make the files appear.
    pub(crate) remedy: &'static str,
    /// True if only the last of the files is switched.
    pub(crate) last_only: bool,
    /// What else has to hold on this machine.
    pub(crate) unless: fn(&SystemState) -> Option<Availability>,
}

impl FileToggle {
    /// What most share: the whole text of each file, and nothing else that has to hold.
    pub(crate) const BASE: Self = Self {
        about: About::SYSTEM,
        files: &[],
        form: Form::Text,
        settings: Settings::Fixed(&[]),
        remedy: "",
        last_only: false,
        unless: |_| None,
    };

    /// The files that are there: all of the first pattern that names any.
    fn places(&self, system: &SystemState) -> Vec<String> {
        let mut found = self.files.iter().map(|pattern| system.expand(pattern));
        let mut places = found.find(|paths| !paths.is_empty()).unwrap_or_default();
        if self.last_only {
            places.drain(..places.len().saturating_sub(1));
        }
        places
    }

    fn target(&self, path: &str) -> Target {
        let path = path.to_owned();
        match self.form {
            Form::Text => Target::File { path },
            Form::Word(word) => Target::Word { path, word: word.to_owned() },
            Form::Line(key) => Target::Line { path, key: key.to_owned() },
        }
    }

    /// The canonical text of one file.
    fn text(&self, system: &SystemState, path: &str) -> Option<String> {
        let text = system.root.read(path).ok()?;
        self.target(path).canonical(&text)
    }

    /// The values that have names here, the state without first.
    fn settings(&self) -> Vec<Setting> {
        match self.settings {
            Settings::OffOn { off, on } => {
                let setting = |name, (text, means)| Setting { name, text, means };
                vec![setting("off", off), setting("on", on)]
            }
            Settings::Fixed(settings) | Settings::TextsOf(settings) => settings.to_vec(),
            Settings::ListedIn(..) | Settings::Derived(_) => Vec::new(),
        }
    }

    /// What is written for each of them, where it can be.
    fn named(&self, system: &SystemState, path: &str) -> Vec<(Setting, String)> {
        let written = |setting: Setting| match self.settings {
            Settings::TextsOf(_) => Some((setting, system.root.read(&beside(path, setting.text)).ok()?)),
            _ => Some((setting, setting.text.to_owned())),
        };
        self.settings().into_iter().filter_map(written).collect()
    }

    /// The name of the value in one file; what has no name goes by its text.
    fn name_of(&self, system: &SystemState, path: &str) -> Option<String> {
        let text = self.text(system, path)?;
        let named = self.named(system, path);
        let name = named.iter().find(|(_, written)| *written == text).map(|(setting, _)| setting.name);
        Some(name.map_or(text, str::to_owned))
    }
}

fn beside(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

/// The file with its folder: enough to know which one is meant.
fn last_parts(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

impl Toggle for FileToggle {
    fn about(&self) -> &About {
        &self.about
    }

    fn availability(&self, system: &SystemState) -> Availability {
        if let Some(missing) = self.about.foreign(system) {
            return missing;
        }
        let places = self.places(system);
        let Some(first) = places.first() else {
            let pattern = self.files.first().copied().unwrap_or_default();
            let top = pattern.split('/').next().unwrap_or_default();
            if !system.root.exists(top) {
                let reason = format!("unknown whether this machine has it: /{top} is absent");
                return Availability::missing(reason, format!("mount /{top}"));
            }
            return Availability::missing(
                format!("{} is absent", last_parts(pattern).replace('+', "*")),
                self.remedy,
            );
        };
        if let Some(missing) = (self.unless)(system) {
            return missing;
        }
        if self.text(system, first).is_none() {
            let remedy = match system.user {
                User::Root => "boot without kernel lockdown",
                User::Unprivileged | User::Recorded => "run as root, without lockdown",
            };
            return Availability::missing(format!("/{first} cannot be read"), remedy);
        }
        if system.user == User::Unprivileged {
            return Availability::missing("it needs root", "run as root");
        }
        if system.user == User::Root && !host::live::is_writable(first) {
            return Availability::missing(
                format!("/{first} is read-only"),
                "remount its file system writable; a container has to be privileged",
            );
        }
        if self.values(system).len() < 2 {
            return Availability::missing("there is only one value", self.remedy);
        }
        Availability::Available
    }

    fn now(&self, system: &SystemState) -> Option<String> {
        let mut names = self.places(system).into_iter().map(|path| self.name_of(system, &path));
        let first = names.next()??;
        names.all(|name| name.as_ref() == Some(&first)).then_some(first)
    }

    fn values(&self, system: &SystemState) -> Vec<Value> {
        let Some(first) = self.places(system).into_iter().next() else { return Vec::new() };
        match self.settings {
            Settings::ListedIn(name, means) => {
                let text = system.root.read(&beside(&first, name)).unwrap_or_default();
                let value = |word: &str| Value {
                    name: word.to_owned(),
                    means: means.to_owned(),
                    risk: Risk::Reversible,
                };
                text.split_whitespace().map(value).collect()
            }
            Settings::Derived(derive) => {
                self.text(system, &first).map(|text| derive(&text)).unwrap_or_default()
            }
            _ => {
                let without = self.settings()[0].name;
                let value = |(setting, _): (Setting, String)| Value {
                    name: setting.name.to_owned(),
                    means: setting.means.to_owned(),
                    risk: if setting.name == without { self.about.risk } else { Risk::Reversible },
                };
                self.named(system, &first).into_iter().map(value).collect()
            }
        }
    }

    fn switch(&self, system: &SystemState, value: &str) -> Result<Switch, SwitchError> {
        let value = self.value(system, value)?;
        let change = |path: String| {
            let named = self.named(system, &path).into_iter();
            let written = named.into_iter().find(|(setting, _)| setting.name == value.name);
            let value = written.map_or_else(|| value.name.clone(), |(_, written)| written);
            Change { target: self.target(&path), value }
        };
        Ok(Switch::System(self.places(system).into_iter().map(change).collect()))
    }
}
