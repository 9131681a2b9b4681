//! Texts that people paste, as one list of keys and values: lscpu in any language, as text or JSON, wrapped, quoted or without colons;
//! /proc/cpuinfo; files of vulnerabilities with their paths.
//!
//! A line is told by its key. A line without one goes on with the value before it, as terminals wrap wherever they end.

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
/// each, English first.
const LSCPU_KEYS: &str = include_str!("lscpu-keys.txt");
/// Keys of /proc/cpuinfo, and the key of lscpu that means the same. Linux, arch/*/kernel/cpu/proc.c and the like.
const CPUINFO_KEYS: [(&str, &str); 18] = [
    ("processor", "processor"),
    ("vendor_id", "Vendor ID"),
    ("cpu family", "CPU family"),
    ("model", "Model"),
    ("model name", "Model name"),
    ("stepping", "Stepping"),
    ("microcode", "Microcode version"),
    ("flags", "Flags"),
    ("Features", "Flags"),
    ("bugs", "bugs"),
    ("siblings", "siblings"),
    ("cpu cores", "cpu cores"),
    ("CPU implementer", "CPU implementer"),
    ("CPU variant", "CPU variant"),
    ("CPU part", "CPU part"),
    ("CPU revision", "CPU revision"),
    ("isa", "isa"),
    ("cpu", "cpu"),
];
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
    /// A file of vulnerabilities.
    Vulnerability(String),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: Key,
    pub(crate) value: String,
    /// Words that the end of a line may have cut or joined: whether they are in the value is unknown.
    pub(crate) torn: Vec<String>,
}

/// A pair in the making: the text from its value on, and lines that may belong to it.
struct Open<'t> {
    key: Key,
    line: &'t str,
    /// Where the value begins in the line, in bytes.
    start: usize,
    more: Vec<&'t str>,
}

static KEYS: LazyLock<HashMap<&'static str, (&'static str, Form)>> = LazyLock::new(|| {
    let paragraphs = LSCPU_KEYS.split("\n\n").filter_map(|names| Some((names.lines().next()?, names)));
    let lscpu = paragraphs.flat_map(|(english, names)| names.lines().map(move |name| (name, english)));
    // The first that has a name keeps it: "Modell" is the model in one language and its name in another.
    let mut keys = HashMap::new();
    for (form, (name, english)) in lscpu
        .map(|pair| (Form::Lscpu, pair))
        .chain(CPUINFO_KEYS.into_iter().map(|pair| (Form::Cpuinfo, pair)))
    {
        keys.entry(name).or_insert((english, form));
    }
    keys
});

/// All pairs of a text in their order; `files` are the names of vulnerability files that the catalogue knows.
pub(crate) fn pairs(text: &str, files: &BTreeSet<&str>) -> Vec<Pair> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"field\"") {
        found.extend(of_lines(&rest[..at], files));
        rest = &rest[at + "\"field\"".len()..];
        let read = |rest| {
            let (field, rest) = json_string(rest)?;
            let data = rest.trim_start_matches(is_between).strip_prefix("\"data\"")?;
            let (data, rest) = json_string(data)?;
            Some((field, data, rest))
        };
        let Some((field, data, after)) = read(rest) else { continue };
        let value = data.trim();
        if let Some(key) = key(&field, files).or_else(|| key_by_value(value)) {
            found.push(Open { key, line: value, start: 0, more: Vec::new() }.close());
        }
        rest = after;
    }
    found.extend(of_lines(rest, files));
    found
}

/// What may stand between the strings of JSON, also of JSON that is quoted.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || [':', ',', '>'].contains(&letter)
}

/// The JSON string that comes next, however a terminal broke its lines, and what follows it.
fn json_string(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(is_between).strip_prefix('"')?;
    let mut is_escaped = false;
    let end = text.find(|letter| {
        let ends = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    })?;
    let string: String = text[..end].lines().collect();
    Some((serde_json::from_str(&format!("\"{string}\"")).ok()?, &text[end + 1..]))
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
    found.retain(|pair| !pair.value.is_empty());
    found
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
        if let Some(key) = key(&line[begin..colon], files) {
            return Some((key, value_start(line, end)));
        }
        if let Some(key) = key_by_value(value).filter(|_| begin == 0 && !line.contains("BIOS")) {
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
    let words: Vec<usize> = bare.match_indices(char::is_whitespace).map(|(at, _)| at).collect();
    let ends = words.iter().copied().filter(|&end| !bare[..end].ends_with(char::is_whitespace));
    let ends: Vec<usize> = ends.take(KEY_WORDS_MAX).collect();
    ends.into_iter().rev().find_map(|end| {
        let key = key(&bare[..end], files)?;
        let value = bare[end..].trim_matches(is_mark);
        let fits = match &key {
            Key::Vulnerability(_) => sysfs_form(value).is_some(),
            Key::Field("Vendor ID" | "Architecture" | "Flags", _) => key_by_value(value).is_some(),
            Key::Field("Model name", _) => true,
            Key::Field("Stepping" | "Hypervisor vendor", _) => !value.contains(char::is_whitespace),
            Key::Field(..) => is_number(value),
        };
        fits.then(|| (key, value_start(line, start + end)))
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

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix("0x").unwrap_or(value);
    !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_hexdigit())
}

/// What a key is, in any language, with the bullet of a list or the words of a log before it.
fn key(text: &str, files: &BTreeSet<&str>) -> Option<Key> {
    let text = text.trim_matches(is_mark);
    let text = ["- ", "+ "].iter().find_map(|bullet| text.strip_prefix(bullet)).unwrap_or(text);
    let text = text.rsplit_once("] ").map_or(text, |(_, text)| text).trim().trim_end_matches([':', '：']);
    if let Some((_, name)) = text.rsplit_once("/vulnerabilities/") {
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        let name = name.trim();
        return (!name.is_empty() && name.chars().all(is_name)).then(|| Key::Vulnerability(name.to_owned()));
    }
    if let Some(&(english, form)) = KEYS.get(text) {
        return Some(Key::Field(english, form));
    }
    let named = text.strip_prefix("Vulnerability ");
    let file = named.unwrap_or(text).to_lowercase().replace(' ', "_");
    (named.is_some() || files.contains(file.as_str())).then_some(Key::Vulnerability(file))
}

/// What a line is whose value is written in one way only, in whatever language its key is.
fn key_by_value(value: &str) -> Option<Key> {
    let mut words = value.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    let is_architecture = X86_ARCHITECTURES.contains(&first)
        || OTHER_ARCHITECTURES.iter().any(|name| first.starts_with(name))
            && first.chars().all(|letter| letter.is_ascii_alphanumeric());
    let name = if VENDORS.contains(&value) {
        "Vendor ID"
    } else if ["fpu", "fp"].contains(&first) && second.is_some() {
        "Flags"
    } else if second.is_none() && is_architecture {
        "Architecture"
    } else {
        return None;
    };
    Some(Key::Field(name, Form::Lscpu))
}

impl Open<'_> {
    fn close(self) -> Pair {
        let value = self.line[self.start..].trim_end_matches(is_mark).to_owned();
        let (value, torn) = match &self.key {
            Key::Vulnerability(_) => (self.vulnerability(&value), Vec::new()),
            Key::Field("Flags" | "bugs", _) => self.words(),
            Key::Field(..) => (value, Vec::new()),
        };
        Pair { key: self.key, value, torn }
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

    /// Words of all lines that hold nothing else. Where a terminal broke all lines at one column, the end of a line is no end of a word;
    /// where lines differ, words at their ends are torn.
    fn words(&self) -> (String, Vec<String>) {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-. \t\r".contains(letter);
        let more: Vec<&str> =
            self.more.iter().copied().take_while(|line| line.chars().all(is_word)).collect();
        let width = |line: &str| line.trim_end_matches('\r').chars().count();
        let broken = || [self.line].into_iter().chain(more.iter().copied()).take(more.len());
        let columns = broken().map(width).max().unwrap_or(0);
        let is_even = more.len() > 1 && broken().all(|line| width(line) + 1 >= columns);
        let column = width(&self.line[..self.start]);
        let (mut text, mut torn) = (self.line[self.start..].trim_end_matches('\r').to_owned(), Vec::new());
        let mut before = width(self.line);
        for line in more {
            let indent = line.chars().take_while(|letter| letter.is_whitespace()).count();
            let piece = match indent {
                0 => line,
                _ if indent >= column => line.char_indices().nth(column).map_or("", |(at, _)| &line[at..]),
                _ => line.trim_start(),
            };
            let piece = piece.trim_end_matches('\r');
            let is_apart = text.ends_with(' ') || piece.starts_with(' ');
            let is_sure = is_even && (indent == 0 || indent >= column);
            if is_apart || is_sure && before < columns {
                text.push(' ');
            } else if !is_sure {
                let last = text.rfind(' ').map_or(0, |at| at + 1);
                let first = piece.split(' ').next().unwrap_or(piece);
                torn.extend([text[last..].to_owned(), first.to_owned(), text[last..].to_owned() + first]);
                text.truncate(last);
                text.push_str(&piece[first.len()..]);
                before = width(line);
                continue;
            }
            text.push_str(piece);
            before = width(line);
        }
        (text.trim().to_owned(), torn)
    }
}
