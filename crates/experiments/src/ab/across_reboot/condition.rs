//! What tells the boots of one arm from those of the other: words of the kernel's command line.

use std::fmt;

use machine::{BootWord, boot_words, same_option};
use serde::{Deserialize, Serialize};
use stats::Arm;

/// One word of the kernel's command line: `nosmt`, or `mitigations=off`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// What stands before the sign of equality.
    pub key: String,
    /// What stands behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What the boots of one arm are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Words that must be there, and no other of the same key.
    pub present: Vec<Word>,
    /// Words that must not be there; without a value, in no form.
    pub absent: Vec<Word>,
}

/// Both arms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The baseline.
    pub a: Condition,
    /// What it is compared with.
    pub b: Condition,
}

/// How a boot's command line departs from an arm; both are empty where it does not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Departure {
    /// Words to add.
    pub missing: Vec<String>,
    /// Words to take away.
    pub surplus: Vec<String>,
}

/// Why words are no arms of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// Something that cannot be a word.
    #[error(
        "{0:?} is no word of a kernel's command line; give words such as mitigations=off, nosmt or !nosmt, without quotes"
    )]
    NoWord(String),
    /// An arm that asks for a word and forbids it.
    #[error("{arm} asks for {word} and forbids it; leave one out")]
    Contradiction {
        /// `--a` or `--b`.
        arm: &'static str,
        /// The word.
        word: String,
    },
    /// One boot could be both.
    #[error("a boot could be A and B at once; name a word that only one of them has")]
    NotApart,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.key),
            None => f.write_str(&self.key),
        }
    }
}

impl Word {
    fn of(word: BootWord) -> Self {
        Self { key: word.name.to_owned(), value: word.value.map(str::to_owned) }
    }

    /// Typed by a user: nothing that would have to be quoted for the kernel.
    fn parse(text: &str) -> Result<Self, ConditionError> {
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"'`\\!".contains(c);
        let mut words = boot_words(text).filter(|word| !word.name.is_empty() && text.chars().all(is_plain));
        words.next().map(Self::of).ok_or_else(|| ConditionError::NoWord(text.to_owned()))
    }

    fn same_key(&self, other: &Self) -> bool {
        same_option(&self.key, &other.key)
    }

    fn same(&self, other: &Self) -> bool {
        self.same_key(other) && self.value == other.value
    }

    /// True if this word, which must not be there, stands for the other.
    fn forbids(&self, other: &Self) -> bool {
        self.same_key(other) && (self.value.is_none() || self.value == other.value)
    }
}

impl Condition {
    /// Words with blanks between them, `!word` for one that must not be there.
    fn parse(text: &str, arm: &'static str) -> Result<Self, ConditionError> {
        let mut found = Self::default();
        for typed in text.split_whitespace() {
            match typed.strip_prefix('!') {
                Some(rest) => found.absent.push(Word::parse(rest)?),
                None => found.present.push(Word::parse(typed)?),
            }
        }
        let clash = found.present.iter().find(|word| {
            found.absent.iter().any(|absent| absent.forbids(word))
                || found.present.iter().any(|other| other.same_key(word) && !other.same(word))
        });
        match clash {
            Some(word) => Err(ConditionError::Contradiction { arm, word: word.to_string() }),
            None => Ok(found),
        }
    }

    /// How a command line departs from this.
    pub fn departure(&self, command_line: &str) -> Departure {
        let have: Vec<Word> = boot_words(command_line).map(Word::of).collect();
        let mut found = Departure::default();
        for word in &self.present {
            if !have.iter().any(|other| other.same(word)) {
                found.missing.push(word.to_string());
            }
            let others = have.iter().filter(|other| other.same_key(word) && !other.same(word));
            found.surplus.extend(others.map(Word::to_string));
        }
        let forbidden = have.iter().filter(|word| self.absent.iter().any(|absent| absent.forbids(word)));
        found.surplus.extend(forbidden.map(Word::to_string));
        found.surplus.sort();
        found.surplus.dedup();
        found
    }

    /// True if no command line can make a boot both.
    fn excludes(&self, other: &Self) -> bool {
        let words_apart = |one: &Self, two: &Self| {
            one.present.iter().any(|word| {
                two.absent.iter().any(|absent| absent.forbids(word))
                    || two.present.iter().any(|required| required.same_key(word) && !required.same(word))
            })
        };
        words_apart(self, other) || words_apart(other, self)
    }

    /// What the arm is called: its words, else what it lacks.
    pub fn name(&self) -> String {
        let words = |words: &[Word]| words.iter().map(Word::to_string).collect::<Vec<_>>().join(" ");
        if self.present.is_empty() {
            format!("without {}", words(&self.absent))
        } else {
            words(&self.present)
        }
    }
}

impl Departure {
    /// True if the boot is of the arm, as far as its command line says.
    pub fn is_none(&self) -> bool {
        self.missing.is_empty() && self.surplus.is_empty()
    }

    /// What to change so that the boot is of the arm, half a sentence: `add mitigations=off, take away nosmt`.
    pub fn what_to_do(&self) -> String {
        if self.is_none() {
            return "leave the command line as it is".to_owned();
        }
        self.in_words("add", "take away", ", ")
    }

    fn in_words(&self, missing: &str, surplus: &str, between: &str) -> String {
        let part =
            |verb: &str, words: &[String]| (!words.is_empty()).then(|| format!("{verb} {}", words.join(" ")));
        let parts = [part(missing, &self.missing), part(surplus, &self.surplus)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(between)
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words("lacks", "has", " and "))
    }
}

impl Conditions {
    /// From what the user typed. A word that one arm asks for and the other does not mention is forbidden there, so that
    /// a boot is never of both.
    ///
    /// # Errors
    /// What is no word, or does not tell the arms apart.
    pub fn parse(words: [&str; 2]) -> Result<Self, ConditionError> {
        let mut a = Condition::parse(words[0], "--a")?;
        let mut b = Condition::parse(words[1], "--b")?;
        let implied = |one: &Condition, two: &Condition| -> Vec<Word> {
            let mentions = |word: &Word| one.present.iter().chain(&one.absent).any(|own| own.same_key(word));
            two.present.iter().filter(|word| !mentions(word)).cloned().collect()
        };
        let (of_a, of_b) = (implied(&a, &b), implied(&b, &a));
        a.absent.extend(of_a);
        b.absent.extend(of_b);
        if !a.excludes(&b) {
            return Err(ConditionError::NotApart);
        }
        Ok(Self { a, b })
    }

    /// One arm.
    pub fn of(&self, arm: Arm) -> &Condition {
        match arm {
            Arm::A => &self.a,
            Arm::B => &self.b,
        }
    }

    /// The words that no arm decides: they should be the same in all boots.
    pub fn remainder(&self, command_line: &str) -> String {
        let decided: Vec<&Word> =
            [&self.a, &self.b].into_iter().flat_map(|arm| arm.present.iter().chain(&arm.absent)).collect();
        let left: Vec<Word> = boot_words(command_line).map(Word::of).collect();
        let left = left.iter().filter(|word| !decided.iter().any(|own| own.same_key(word)));
        left.map(Word::to_string).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arms(a: &str, b: &str) -> Result<Conditions, ConditionError> {
        Conditions::parse([a, b])
    }

    /// The arms that a command line fits.
    fn fitting(arms: &Conditions, command_line: &str) -> Vec<Arm> {
        [Arm::A, Arm::B].into_iter().filter(|arm| arms.of(*arm).departure(command_line).is_none()).collect()
    }

    #[test]
    fn a_boot_is_of_the_arm_whose_words_it_has_and_of_no_other() {
        for (a, b, command_line, expected) in [
            ("mitigations=auto", "mitigations=off", "quiet mitigations=off", Some(Arm::B)),
            ("mitigations=auto", "mitigations=off", "quiet mitigations=auto ro", Some(Arm::A)),
            ("mitigations=auto", "mitigations=off", "quiet", None),
            ("mitigations=auto", "mitigations=off", "mitigations=auto mitigations=off", None),
            ("", "nosmt", "quiet", Some(Arm::A)),
            ("", "nosmt", "quiet nosmt", Some(Arm::B)),
            ("", "nosmt", "quiet nosmt=force", None),
            ("!nosmt", "nosmt=force", "nosmt", None),
            ("", "intel_pstate=disable", "intel-pstate=disable", Some(Arm::B)),
            ("", "mitigations=off", "quiet -- mitigations=off", Some(Arm::A)),
            ("", "a=1", "dyndbg=\"file a=1 +p\" quiet", Some(Arm::A)),
        ] {
            let fitting = fitting(&arms(a, b).expect("arms"), command_line);
            assert_eq!(fitting, Vec::from_iter(expected), "{a} | {b}: {command_line}");
        }
    }

    #[test]
    fn what_departs_is_named_word_by_word() {
        let arms = arms("mitigations=auto !nosmt", "mitigations=off").expect("arms");
        let departure = arms.a.departure("mitigations=off nosmt=force");
        assert_eq!(departure.missing, ["mitigations=auto"]);
        assert_eq!(departure.surplus, ["mitigations=off", "nosmt=force"]);
        assert_eq!(departure.to_string(), "lacks mitigations=auto and has mitigations=off nosmt=force");
        assert_eq!(arms.remainder("ro mitigations=off nosmt quiet"), "ro quiet");
    }

    #[test]
    fn arms_that_one_boot_could_both_be_are_refused() {
        for (a, b) in [("", ""), ("!nosmt", ""), ("quiet", "quiet"), ("!a", "!b")] {
            assert_eq!(arms(a, b), Err(ConditionError::NotApart), "{a} | {b}");
        }
        for text in ["=1", "a\"b", "--", "!", "!!a", "a'b", "ä=1", "a\\b", "`a`"] {
            assert!(arms("", text).is_err(), "{text}");
        }
        assert!(matches!(arms("a !a", "b"), Err(ConditionError::Contradiction { arm: "--a", .. })));
        assert!(matches!(arms("b", "a=1 a=2"), Err(ConditionError::Contradiction { arm: "--b", .. })));
    }

    proptest! {
        #[test]
        fn no_command_line_fits_both_arms(
            a in "(!?[ab](=[12])? ){0,3}", b in "(!?[ab](=[12])? ){0,3}", line in "([ab](=[12])? ){0,4}",
        ) {
            if let Ok(arms) = arms(&a, &b) {
                prop_assert!(fitting(&arms, &line).len() < 2, "{:?} {:?} {:?}", a, b, line);
            }
        }

        #[test]
        fn any_text_is_read_without_panic(a in ".*", b in ".*", line in ".*") {
            if let Ok(arms) = arms(&a, &b) {
                fitting(&arms, &line);
                arms.remainder(&line);
            }
        }
    }
}
