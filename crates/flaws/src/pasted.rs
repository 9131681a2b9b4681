//! Texts that people paste, as one list of keys and values: lscpu in any language, as text or JSON, wrapped, quoted or without colons;
//! /proc/cpuinfo; files of vulnerabilities with their paths.
//!
//! A line is known by its key. A line without one goes on with the value before it, as terminals wrap wherever they end.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use crate::wording::sysfs_form;

/// Vendor strings of x86 CPUs, by which the vendor's line is known in any language.
pub(crate) const VENDORS: [&str; 6] =
    ["GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "Shanghai", "VIA VIA VIA"];
/// How the names of architectures begin that are not x86; the names are never translated. Linux, UTS_MACHINE.
pub(crate) const OTHER_ARCHITECTURES: [&str; 10] =
    ["aarch64", "arm", "ppc", "s390", "riscv", "mips", "loongarch", "ia64", "sparc", "alpha"];
/// The names of x86 itself.
const X86_ARCHITECTURES: [&str; 4] = ["x86_64", "i386", "i586", "i686"];
/// The keys that bear on flaws, in every language of util-linux 2.38.1 and after (message catalogues, msgid in English): a paragraph
/// each, English first, and behind `=` those of /proc/cpuinfo that mean the same. Linux, arch/*/kernel/cpu/proc.c and the like.
const KEYS: &str = include_str!("lscpu-keys.txt");
/// Colons of a line behind which its key is looked for: the name of a host or the time of a log may stand before it.
const COLONS_MAX: usize = 6;
/// Words of the longest key: `CPU dynamic MHz` and the like have fewer.
const KEY_WORDS_MAX: usize = 5;
/// A longer line without a colon has no key.
const KEYED_BYTES_MAX: usize = 2048;
/// Lines that one value of a vulnerability is wrapped into, at most: 20 columns are narrower than any terminal.
const WRAPPED_LINES_MAX: usize = 16;

/// Whose line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Lscpu,
    Cpuinfo,
}

/// What a line is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// A field, by its English name in lscpu, or its name in /proc/cpuinfo where lscpu has none.
    Field(&'static str, Form),
    /// A file of vulnerabilities, as lscpu or the kernel names it.
    Vulnerability(String, Form),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: Key,
    pub(crate) value: String,
    /// Words that the end of a line may have cut or joined: whether they are in the value is unknown.
    pub(crate) torn: Vec<String>,
    /// The line of flags may have lost its end.
    pub(crate) is_cut: bool,
    /// Columns up to the end of a value on one line, else 0.
    width: usize,
}

/// A pair in the making: the text from its value on, and lines that may belong to it.
struct Open<'t> {
    key: Key,
    line: &'t str,
    /// Where the value begins in the line, in bytes.
    start: usize,
    more: Vec<&'t str>,
}

/// The keys by all their names. The first that has a name keeps it: "Modell" is the model in one language and its name in another.
static BY_NAME: LazyLock<HashMap<&'static str, Key>> = LazyLock::new(|| {
    let mut keys = HashMap::new();
    for names in KEYS.split("\n\n") {
        let english = names.lines().next().unwrap_or(names);
        for name in names.lines() {
            let of_cpuinfo = name.strip_prefix('=').map(|name| (name, Form::Cpuinfo));
            let (name, form) = of_cpuinfo.unwrap_or((name, Form::Lscpu));
            keys.entry(name).or_insert(Key::Field(english, form));
        }
    }
    keys
});

/// All pairs of a text in their order, those of JSON last; `files` are the names of vulnerability files that the catalogue knows.
pub(crate) fn pairs(text: &str, files: &BTreeSet<&str>) -> Vec<Pair> {
    let pieces: Vec<&str> = if text.contains("\"field\"") { text.split('"').collect() } else { Vec::new() };
    let mut lines = text.to_owned();
    for piece in pieces.windows(7).filter(|piece| piece[0] == "field" && piece[4] == "data") {
        let row = format!("{}: {}", piece[2].trim_end_matches(':'), piece[6]);
        lines.extend(["\n", &row.replace(['\r', '\n'], ""), "\n"]);
    }
    of_lines(&lines, files)
}

fn of_lines(text: &str, files: &BTreeSet<&str>) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    let mut open: Option<Open> = None;
    for line in text.lines().map(unquoted) {
        if let Some((key, start)) = keyed(line, files) {
            found.extend(open.replace(Open { key, line, start, more: Vec::new() }).map(Open::close));
        } else if line.trim().is_empty() || line.trim_start().starts_with("```") {
            found.extend(open.take().map(Open::close));
        } else if let Some(open) = &mut open {
            open.more.push(line);
        }
    }
    found.extend(open.map(Open::close));
    mark_cut(&mut found, text.ends_with('\n'));
    found.retain(|pair| !pair.value.is_empty());
    found
}

/// Marks lines of flags that end at the column where the widest other line ends too, or at the end of a text without a last newline.
fn mark_cut(found: &mut [Pair], is_ended: bool) {
    let is_flags = |pair: &Pair| matches!(pair.key, Key::Field("Flags", _));
    let edge = found.iter().filter(|pair| !is_flags(pair)).map(|pair| pair.width).max();
    let last = found.len().saturating_sub(1);
    for (index, pair) in found.iter_mut().enumerate().filter(|(_, pair)| is_flags(pair)) {
        pair.is_cut = pair.width > 0 && edge == Some(pair.width) || !is_ended && index == last;
    }
}

/// A line without the marks of a quotation.
fn unquoted(mut line: &str) -> &str {
    while let Some(quoted) = line.trim_start().strip_prefix('>') {
        line = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    line
}

/// The key of a line, and where its value begins.
fn keyed(line: &str, files: &BTreeSet<&str>) -> Option<(Key, usize)> {
    let mut begin = 0;
    for (colon, sign) in line.match_indices([':', '：']).take(COLONS_MAX) {
        let end = colon + sign.len();
        let value = line[end..].trim_matches(is_mark);
        let by_value = || key_by_value(value).filter(|_| !line.contains("BIOS"));
        let key = key(&line[begin..colon], files).or_else(by_value);
        if let Some(key) = key.filter(|key| can_be(key, value)) {
            return Some((key, value_start(line, end)));
        }
        begin = end;
    }
    let bare = line.trim_matches(is_mark);
    if bare.len() > KEYED_BYTES_MAX {
        return None;
    }
    let headed = bare.strip_prefix("==>").and_then(|path| path.strip_suffix("<=="));
    if let Some(path) = headed.or(bare.contains("/vulnerabilities/").then_some(bare)) {
        return Some((key(path, files)?, line.len()));
    }
    // Without its colon a key is one only if what follows can be its value.
    let start = bare.as_ptr() as usize - line.as_ptr() as usize;
    let is_end = |end: &usize| !bare[..*end].ends_with(char::is_whitespace);
    let ends = bare.match_indices(char::is_whitespace).map(|(at, _)| at).filter(is_end);
    ends.take(KEY_WORDS_MAX).collect::<Vec<_>>().into_iter().rev().find_map(|end| {
        let key = key(&bare[..end], files)?;
        let value = bare[end..].trim_matches(is_mark);
        let is_whole = match &key {
            Key::Vulnerability(..) => sysfs_form(value).is_some(),
            Key::Field(..) => {
                !value.contains(char::is_whitespace) || key_by_value(value).as_ref() == Some(&key)
            }
        };
        (is_whole && can_be(&key, value)).then(|| (key, value_start(line, start + end)))
    })
}

/// Where the first letter of a value stands, behind blanks and the bar of a table.
fn value_start(line: &str, from: usize) -> usize {
    line[from..].find(|letter: char| !is_mark(letter)).map_or(line.len(), |at| from + at)
}

/// Blanks, bullets and other marks around keys and values.
fn is_mark(letter: char) -> bool {
    letter.is_whitespace() || ['|', '*', '`', '•', '#'].contains(&letter)
}

/// What a key is, in any language, with whatever bullet, number or time stands before it.
fn key(text: &str, files: &BTreeSet<&str>) -> Option<Key> {
    let text = text.trim_end_matches(|letter| is_mark(letter) || [':', '：'].contains(&letter));
    let text =
        text.trim_start_matches(|letter: char| !letter.is_alphabetic() && !['/', '"'].contains(&letter));
    if let Some((_, name)) = text.rsplit_once("/vulnerabilities/") {
        let name = name.trim();
        let is_file = !name.is_empty() && !name.contains(char::is_whitespace);
        return is_file.then(|| Key::Vulnerability(name.to_owned(), Form::Cpuinfo));
    }
    if let Some(key) = BY_NAME.get(text) {
        return Some(key.clone());
    }
    let named = text.strip_prefix("Vulnerability ");
    let file = named.unwrap_or(text).to_lowercase().replace(' ', "_");
    let form = if file == text { Form::Cpuinfo } else { Form::Lscpu };
    (named.is_some() || files.contains(file.as_str())).then_some(Key::Vulnerability(file, form))
}

/// What a line is whose value is written in one way only, in whatever language its key is.
fn key_by_value(value: &str) -> Option<Key> {
    let is_flags = ["fpu ", "fp "].iter().any(|first| value.starts_with(first));
    let name = if is_flags { "Flags" } else { VENDORS.contains(&value).then_some("Vendor ID")? };
    Some(Key::Field(name, Form::Lscpu))
}

/// Whether a value can be that of a key: programs that list disks or packages have some of the keys too.
fn can_be(key: &Key, value: &str) -> bool {
    let is_other = || OTHER_ARCHITECTURES.iter().any(|name| value.starts_with(name));
    match key {
        Key::Field("CPU(s)" | "CPU family" | "Model", _) => value.parse::<u32>().is_ok(),
        Key::Field("Architecture", _) => X86_ARCHITECTURES.contains(&value) || is_other(),
        _ => true,
    }
}

impl Open<'_> {
    fn close(self) -> Pair {
        let value = self.line[self.start..].trim_end_matches(is_mark).to_owned();
        let (value, torn) = match &self.key {
            Key::Vulnerability(..) => (self.vulnerability(&value), Vec::new()),
            Key::Field("Flags" | "bugs", _) => self.words(),
            Key::Field(..) => (value, Vec::new()),
        };
        let width = if self.more.is_empty() { self.line.trim_end().chars().count() } else { 0 };
        Pair { key: self.key, value, torn, is_cut: false, width }
    }

    /// As the kernel spells it, with as many lines as make a wording that is known in full; as it stands if none is.
    fn vulnerability(&self, value: &str) -> String {
        let more = &self.more[..self.more.len().min(WRAPPED_LINES_MAX)];
        let joined = |count: usize| {
            let lines =
                [value].into_iter().chain(more[..count].iter().map(|line| line.trim_matches(is_mark)));
            lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let known = (0..=more.len()).rev().find_map(|count| sysfs_form(&joined(count)));
        let plain = || more.iter().take_while(|line| !line.contains(':')).count();
        // A line of its own below its path is its text, whatever it says.
        known.unwrap_or_else(|| joined(plain().max(usize::from(value.is_empty())).min(more.len())))
    }

    /// Words of all lines that hold nothing else. Where no blank parts the end of a line from the next, a terminal may have cut a word
    /// or lost a blank: the words there are torn.
    fn words(&self) -> (String, Vec<String>) {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-. \t\r".contains(letter);
        let column = self.line[..self.start].chars().count();
        let (mut text, mut torn) = (self.line[self.start..].trim_end_matches('\r').to_owned(), Vec::new());
        for line in self.more.iter().take_while(|line| line.chars().all(is_word)) {
            let is_aligned = line.chars().take(column).all(char::is_whitespace);
            let piece =
                if is_aligned { line.chars().skip(column).collect() } else { line.trim_start().to_owned() };
            if !text.ends_with(' ') && !piece.starts_with(' ') {
                let last = text.split_off(text.rfind(' ').map_or(0, |at| at + 1));
                let (next, rest) = piece.split_once(' ').unwrap_or((&piece, ""));
                torn.extend([last.clone() + next, last, next.to_owned()]);
                text.push_str(rest);
            } else {
                text.push_str(&piece);
            }
            text.truncate(text.trim_end_matches('\r').len());
        }
        (text, torn)
    }
}
