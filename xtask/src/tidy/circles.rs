//! Rule of circles: modules that use each other in a round cannot be read one by one, nor moved.
//!
//! Held against each other are the modules of one parent, each with all that is within it; uses between a module and those within it
//! do not count. Uses are paths from `crate`, `self` and `super` in code outside of tests; a name that a module hands on by `pub use`
//! is a use of where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

use super::{Source, Violation};

/// A module by its path in the crate; the root is the empty one.
type Module = Vec<String>;

/// Which modules of the same parent each uses, and where: file, line and path as written.
type Uses = BTreeMap<Module, BTreeMap<Module, String>>;

/// The files of a crate by their modules, and the names that a module hands on, with the path to where each stands.
#[derive(Default)]
struct Crate<'a> {
    files: BTreeMap<Module, &'a Source>,
    handed_on: BTreeMap<(Module, String), Vec<String>>,
}

/// What makes a name of another module one of this.
static HANDS_ON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bpub(?:\([^)]*\))?\s+use\s+").expect("the pattern is sound"));

/// Names that lead on through so many modules are a mistake.
const DEPTH: usize = 8;

/// The circles of each crate.
pub(super) fn circles(sources: &[Source]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        if let Some((folder, _)) = source.path.split_once("/src/") {
            crates.entry(folder).or_default().push(source);
        }
    }
    crates.iter().filter_map(|(folder, sources)| judged(folder, &uses(folder, sources))).collect()
}

/// The breach of one crate, if there is one.
fn judged(folder: &str, uses: &Uses) -> Option<Violation> {
    let found: Vec<String> = of(uses).iter().map(|circle| described(circle, uses)).collect();
    let reason = format!("modules use each other in a circle:\n{}", found.join("\n"));
    (!found.is_empty()).then(|| Violation { path: format!("{folder}/src"), line: 0, reason })
}

/// The modules of a circle, and the uses that make it.
fn described(circle: &BTreeSet<Module>, uses: &Uses) -> String {
    let mut text = format!("  circle of {} modules", circle.len());
    for from in circle {
        for (to, place) in uses.get(from).into_iter().flatten().filter(|(to, _)| circle.contains(*to)) {
            let _ = write!(text, "\n    {} -> {} ({place})", from.join("::"), to.join("::"));
        }
    }
    text
}

/// The sets of more than one module that all reach each other.
fn of(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (module, reached_from(module, uses))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for (module, ahead) in &reached {
        let circle =
            ahead.iter().filter(|other| reached.get(**other).is_some_and(|back| back.contains(module)));
        let circle: BTreeSet<Module> = circle.map(|other| (*other).clone()).collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

fn reached_from<'a>(module: &Module, uses: &'a Uses) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<&Module> = uses.get(module).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(next) = ahead.pop() {
        if reached.insert(next) {
            ahead.extend(uses.get(next).into_iter().flat_map(BTreeMap::keys));
        }
    }
    reached
}

/// What the modules of each parent use of each other.
fn uses(folder: &str, sources: &[&Source]) -> Uses {
    let whole = Crate::of(folder, sources);
    let mut uses = Uses::new();
    for (own, source) in &whole.files {
        let text = Text::of(source);
        for start in ["crate::", "self::", "super::"] {
            for (at, _) in text.code.match_indices(start) {
                let before = text.code[..at].chars().next_back();
                if before.is_some_and(|letter| letter.is_alphanumeric() || "_:$".contains(letter)) {
                    continue;
                }
                tree(&text.code[at..], &[], &mut |path, _| {
                    let Some(target) = whole.resolved(own, &path, DEPTH) else { return };
                    let depth = own.iter().zip(&target).take_while(|(one, other)| one == other).count();
                    if depth < own.len().min(target.len()) {
                        let place = || format!("{}:{}: {}", source.path, text.line(at), path.join("::"));
                        let of_own = uses.entry(own[..=depth].to_vec()).or_default();
                        of_own.entry(target[..=depth].to_vec()).or_insert_with(place);
                    }
                });
            }
        }
    }
    uses
}

impl<'a> Crate<'a> {
    fn of(folder: &str, sources: &[&'a Source]) -> Self {
        let mut files: BTreeMap<Module, &Source> =
            sources.iter().filter_map(|source| Some((module_of(folder, &source.path)?, *source))).collect();
        let of_tests: Vec<Module> =
            files.iter().flat_map(|(own, source)| test_modules(own, source)).collect();
        files.retain(|module, _| !of_tests.iter().any(|test| module.starts_with(test)));
        let mut handed_on = BTreeMap::new();
        for (own, source) in &files {
            let text = Text::of(source);
            for found in HANDS_ON.find_iter(&text.code) {
                tree(&text.code[found.end()..], &[], &mut |path, name| {
                    handed_on.insert((own.clone(), name), path);
                });
            }
        }
        Self { files, handed_on }
    }

    /// The module that a path leads into: the longest part of it that is one, or where a name that is handed on stands.
    fn resolved(&self, own: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut at = own.clone();
        for name in path {
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ => {
                    at.push(name.clone());
                    if !self.files.contains_key(&at) {
                        at.pop();
                        if let Some(path) =
                            self.handed_on.get(&(at.clone(), name.clone())).filter(|_| depth > 0)
                        {
                            return self.resolved(&at, path, depth - 1);
                        }
                        break;
                    }
                }
            }
        }
        self.files.contains_key(&at).then_some(at)
    }
}

/// Modules that a file declares for tests alone.
fn test_modules(own: &Module, source: &Source) -> Vec<Module> {
    let lines = source.numbered().filter(|(number, _)| source.is_test[number - 1]);
    let names = lines.filter_map(|(_, line)| line.trim().strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| [own.as_slice(), &[name.to_owned()]].concat()).collect()
}

/// The code of a file outside of tests as one text.
struct Text {
    code: String,
    /// Where each line begins, and its number.
    lines: Vec<(usize, usize)>,
}

impl Text {
    fn of(source: &Source) -> Self {
        let (mut code, mut lines) = (String::new(), Vec::new());
        for (number, line) in source.production() {
            lines.push((code.len(), number));
            code.push_str(line);
            code.push('\n');
        }
        Self { code, lines }
    }

    fn line(&self, at: usize) -> usize {
        self.lines.iter().rev().find(|(begin, _)| *begin <= at).map_or(0, |(_, number)| *number)
    }
}

/// The module that a file of a crate is; nothing of a file of tests, or of a program beside the crate.
fn module_of(folder: &str, path: &str) -> Option<Module> {
    let inside = path.strip_prefix(folder)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    let mut parts: Module = inside.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        parts.pop();
    }
    let is_other = parts.first().is_some_and(|first| first == "bin");
    let is_test = parts.last().is_some_and(|last| last == "tests");
    (!is_other && !is_test).then_some(parts)
}

/// What is done with a path, and the name under which its end is known.
type Take<'t> = &'t mut dyn FnMut(Vec<String>, String);

/// Hands out the paths that `text` begins with, behind those names that lead there; what stands behind them.
fn tree<'t>(text: &'t str, before: &[String], take: Take<'_>) -> &'t str {
    let mut path = before.to_vec();
    let mut rest = text.trim_start();
    loop {
        let (name, behind) = word(rest);
        if name.is_empty() {
            if let Some(group) = behind.strip_prefix('{') {
                return members(group, &path, take);
            }
            if behind.starts_with('*') {
                take(path, String::new());
            }
            return behind;
        }
        path.push(name.to_owned());
        if let Some(next) = behind.strip_prefix("::") {
            rest = next;
            continue;
        }
        let alias = behind.trim_start().strip_prefix("as ").map(|alias| word(alias.trim_start()).0);
        // `a::{self}` hands on `a`.
        let own = path.iter().rev().find(|name| *name != "self").map_or("", String::as_str);
        let known_as = alias.unwrap_or(own).to_owned();
        take(path, known_as);
        return behind;
    }
}

/// The members of a group in braces.
fn members<'t>(mut rest: &'t str, path: &[String], take: Take<'_>) -> &'t str {
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return behind;
        }
        rest = tree(rest, path, take);
        let Some(end) = rest.find([',', '}']) else { return rest };
        rest = if rest[end..].starts_with(',') { &rest[end + 1..] } else { &rest[end..] };
    }
}

/// The name that a text begins with, which may be empty, and what is behind it.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(&format!("crates/a/src/{path}"), text)).collect();
        let uses = uses("crates/a", &sources.iter().collect::<Vec<_>>());
        of(&uses).iter().map(|circle| circle.iter().map(|module| module.join("::")).collect()).collect()
    }

    #[test]
    fn modules_that_use_each_other_are_a_circle() {
        let round = [
            ("lib.rs", "mod b; mod c; mod d;"),
            ("b.rs", "use crate::{\n    c::{self, e::F},\n};"),
            ("c.rs", "fn f() -> super::d::G { 1 }"),
            ("c/e.rs", "use super::f;"),
            ("d.rs", "fn g() { crate::b::h() }"),
        ];
        assert_eq!(found(&round), [["b", "c", "d"]]);
        assert_eq!(found(&round[..4]), [[""; 0]; 0], "without the last use");
    }

    #[test]
    fn a_module_and_those_within_it_and_tests_are_no_circle() {
        let parent = [("a.rs", "mod b; use self::b::C;"), ("a/b.rs", "use super::D; use crate::a::D;")];
        assert_eq!(found(&parent), [[""; 0]; 0]);
        let tests =
            [("a.rs", "use crate::b::C;"), ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::D;\n}")];
        assert_eq!(found(&tests), [[""; 0]; 0]);
        let own_file =
            [("a.rs", "use crate::b::C;"), ("b.rs", "#[cfg(test)]\nmod d;"), ("b/d.rs", "use crate::a::D;")];
        assert_eq!(found(&own_file), [[""; 0]; 0]);
    }

    #[test]
    fn modules_of_one_parent_stand_for_all_within_them_and_names_lead_to_where_they_stand() {
        let within =
            [("a/b.rs", ""), ("a/c.rs", "use crate::d::D;"), ("d.rs", "use crate::a::b::B;"), ("a.rs", "")];
        assert_eq!(found(&within), [["a", "d"]]);
        let handed_on = [
            ("lib.rs", "mod b; mod c;\npub(crate) use b::{B as Bee, E};"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::Bee;"),
        ];
        assert_eq!(found(&handed_on), [["b", "c"]]);
    }

    #[test]
    fn a_circle_is_named_with_the_uses_that_make_it() {
        let sources = [("b.rs", "use crate::c::C;"), ("c.rs", "use crate::b::B;")]
            .map(|(path, text)| Source::new(&format!("crates/a/src/{path}"), text));
        let reasons = circles(&sources);
        assert_eq!((reasons.len(), reasons[0].path.as_str()), (1, "crates/a/src"));
        assert!(reasons[0].reason.contains("b -> c (crates/a/src/b.rs:1: crate::c::C)"), "{}", reasons[0]);
        assert_eq!(circles(&sources[..1]), []);
    }
}
