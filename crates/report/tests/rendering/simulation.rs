//! Renderings of a simulation: widths, sentences, escaping, and the same with nothing in it.

use models::memory::{Described, KNOWN, Scope, Simulation, parse, simulate};
use report::{Html, SimulationView, Terminal, simulation_csv, simulation_html, simulation_terminal};
use unicode_width::UnicodeWidthStr;

fn described() -> Described {
    let (name, text) = KNOWN[0];
    parse(text, name).expect("a machine of ours")
}

/// Small tests in place of long ones: what is rendered here is text, not a machine.
fn quick() -> Described {
    let mut described = described();
    described.machine.test.retain(|test| test.block_bytes.0 < 1 << 26);
    described.published.truncate(1);
    described
}

fn simulated(scope: Scope) -> Simulation {
    simulate(&quick(), scope)
}

#[test]
fn no_line_is_wider_than_the_terminal_and_every_part_is_there() {
    let simulation = simulated(Scope { bandwidth: true, ..Scope::default() });
    let view = SimulationView { workaround: None, strides: true };
    for width_columns in [40, 80, 100] {
        let text = simulation_terminal(&simulation, view, Terminal { width_columns, colour: false });
        assert!(text.lines().all(|line| line.width() <= width_columns), "{text}");
    }
    let text = simulation_terminal(&simulation, view, Terminal::default());
    for part in
        ["latency_ns", "59, 99", "stride of 512 B", "Unchanged within 1 %", "e298 off, MB/s", "e298 on, MB/s"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let one = SimulationView { workaround: Some(true), strides: false };
    let text = simulation_terminal(&simulation, one, Terminal::default());
    assert!(text.contains("e298 on, MB/s") && !text.contains("e298 off, MB/s"), "{text}");
}

#[test]
fn a_csv_row_stands_for_every_number() {
    let simulation = simulated(Scope { bandwidth: true, ..Scope::default() });
    let csv = simulation_csv(&simulation);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    let rows = simulation.rows.len() + simulation.strides.len() + simulation.bandwidth.len();
    assert_eq!(csv.lines().count(), 1 + rows);
    assert!(csv.contains("test,latency_ns,33554432,512,ns,"), "{csv}");
}

#[test]
fn a_hostile_machine_file_can_neither_steer_the_terminal_nor_mark_up_the_page() {
    let mut described = quick();
    let hostile = "\u{1b}[31m<script>alert(1)</script>\u{202e}";
    described.machine.title = hostile.to_owned();
    described.machine.workaround.id = hostile.to_owned();
    for cache in &mut described.machine.cache {
        cache.name = hostile.to_owned();
    }
    for board in &mut described.machine.board {
        board.title = hostile.to_owned();
    }
    for test in &mut described.machine.test {
        test.name += hostile;
    }
    described.published.clear();
    let simulation = simulate(&described, Scope { bandwidth: true, ..Scope::default() });
    let text = simulation_terminal(&simulation, SimulationView::default(), Terminal::default());
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    let page = simulation_html(&simulation, Html { script: false });
    assert!(!page.contains("<script>alert") && page.ends_with("</html>\n"));
}

#[test]
fn a_machine_without_tests_has_a_text_and_a_page() {
    let mut described = described();
    described.machine.test.clear();
    described.published.clear();
    let simulation = simulate(&described, Scope { fit: true, ..Scope::default() });
    assert!(simulation.fit.is_none() && simulation.rows.is_empty());
    assert!(!simulation_terminal(&simulation, SimulationView::default(), Terminal::default()).is_empty());
    assert!(simulation_html(&simulation, Html { script: false }).contains("on paper"));
    assert_eq!(simulation_csv(&simulation).lines().count(), 1 + simulation.strides.len());
}
