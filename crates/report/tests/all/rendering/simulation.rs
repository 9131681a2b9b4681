//! Renderings of a simulation: widths, sentences, escaping, and the same with nothing in it.

use models::memory::{MemoryMachine, Simulation, simulate};
use report::{Terminal, memory_page};
use unicode_width::UnicodeWidthStr;

fn phenom() -> MemoryMachine {
    models::known("phenom-9600").expect("a machine of ours")
}

/// Small tests in place of long ones: what is rendered here is text, not a machine.
fn quick() -> MemoryMachine {
    let mut machine = phenom();
    machine.test.retain(|test| test.block_bytes.0 < 1 << 26);
    machine.published.truncate(1);
    machine
}

fn simulated(with_curves: bool) -> Simulation {
    simulate(&quick(), with_curves)
}

fn text(simulation: &Simulation, is_long: bool) -> String {
    memory_page(simulation).terminal(Terminal::default(), is_long)
}

fn page(simulation: &Simulation) -> String {
    memory_page(simulation).html()
}

#[test]
fn no_line_is_wider_than_the_terminal_and_every_part_is_there() {
    let simulation = simulated(true);
    for width_columns in [40, 80, 100] {
        let terminal = Terminal { width_columns, colour: false };
        let text = memory_page(&simulation).terminal(terminal, true);
        assert!(text.lines().all(|line| line.width() <= width_columns), "{text}");
    }
    let all = text(&simulation, true);
    for part in ["latency_ns", "59.0", "stride of 512 B", "Unchanged within 1 %", "e298 off", "added, ns"] {
        assert!(all.contains(part), "{part}\n{all}");
    }
    let first = text(&simulation, false);
    assert!(first.lines().count() <= 24 && !first.contains("Bandwidth"), "{first}");
}

#[test]
fn the_answer_is_the_cost_of_the_workaround() {
    let text = text(&simulated(false), false);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("With e298 latency_ns takes 1.72 times as long (58.8 to 101 ns);"), "{text}");
    assert!(said.contains("A page walk costs 338 ns more"), "{text}");
}

#[test]
fn a_csv_row_stands_for_every_number() {
    let simulation = simulated(true);
    let tables = memory_page(&simulation).csv();
    let table = |id: &str| &tables.iter().find(|(name, _)| *name == id).expect(id).1;
    for (id, rows) in [
        ("tests", simulation.rows.len()),
        ("strides", simulation.strides.len()),
        ("bandwidth", simulation.bandwidth.len()),
    ] {
        assert_eq!(table(id).lines().count(), 1 + rows, "{id}");
    }
    assert!(table("tests").contains("latency_ns,58."), "{}", table("tests"));
}

#[test]
fn a_hostile_machine_file_can_neither_steer_the_terminal_nor_mark_up_the_page() {
    let mut machine = quick();
    let hostile = "\u{1b}[31m<script>alert(1)</script>\u{202e}";
    machine.title = hostile.to_owned();
    machine.workaround.id = hostile.to_owned();
    for cache in &mut machine.cache {
        cache.name = hostile.to_owned();
    }
    for board in &mut machine.board {
        board.title = hostile.to_owned();
    }
    for test in &mut machine.test {
        test.name += hostile;
    }
    machine.published.clear();
    let simulation = simulate(&machine, true);
    for width_columns in [40, 80] {
        let terminal = Terminal { width_columns, colour: false };
        let text = memory_page(&simulation).terminal(terminal, true);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    let page = page(&simulation);
    assert!(!page.contains("<script>alert") && page.ends_with("</html>\n"));
}

#[test]
fn a_machine_without_tests_has_a_text_and_a_page() {
    let mut machine = phenom();
    machine.test.clear();
    machine.published.clear();
    let simulation = simulate(&machine, false);
    assert!(simulation.rows.is_empty());
    assert!(text(&simulation, false).contains("undetermined: no test"));
    assert!(page(&simulation).contains("nothing measured"));
}
