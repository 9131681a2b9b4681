//! The blades of the note on STREAM: the model meets the published triads, predicts what it was not shown, and never
//! reads what it is held against.

use machine::Hertz;
use models::interconnect::{SocketMachine, SocketSimulation, Variant, simulate};
use models::{MachineKind, known_machines_of};

fn machine(name: &str) -> SocketMachine {
    models::known(name).expect(name)
}

fn run(name: &str, variant: &Variant) -> SocketSimulation {
    simulate(&machine(name), variant).expect(name)
}

fn triads(simulation: &SocketSimulation) -> Vec<f64> {
    simulation.rows.iter().map(|row| row.triad_mb_per_s.expect("it streams")).collect()
}

#[test]
fn five_links_and_two_parameters_meet_eight_published_triads() {
    let errors: Vec<f64> = ["x6440-8380", "x6440-8384"]
        .iter()
        .flat_map(|name| run(name, &Variant::default()).rows)
        .map(|row| row.error_percent.expect("published"))
        .collect();
    let rms = (errors.iter().map(|error| error * error).sum::<f64>() / 8.0).sqrt();
    assert_eq!(errors.len(), 8);
    assert!(rms <= 1.0, "{rms}");
    assert!(errors.iter().all(|error| error.abs() <= 1.5), "{errors:?}");
}

#[test]
fn other_links_give_what_the_note_says_of_other_boards() {
    for (name, fast, slow) in [("x6440-8380", 4652.0, 3943.0), ("x6440-8384", 4975.0, 4159.0)] {
        let all = |variant: &Variant, expected: f64| {
            for triad in triads(&run(name, variant)) {
                assert!((triad / expected - 1.0).abs() < 0.02, "{name} {variant:?}: {triad} for {expected}");
            }
        };
        all(&Variant { remove: vec![[1, 2]], ..Variant::default() }, slow);
        all(&Variant { add: vec![[0, 3]], ..Variant::default() }, fast);
        let filtered = run(name, &Variant { snoop_filter: true, ..Variant::default() });
        for (row, triad) in filtered.rows.iter().zip(triads(&filtered)) {
            assert!((5650.0..6450.0).contains(&triad), "{name}: {row:?}");
        }
        assert!(filtered.ceiling_mb_per_s.is_some_and(|ceiling| ceiling < 9500.0));
    }
    let clocked = Variant { core_hz: Some(Hertz(2.7e9)), ..Variant::default() };
    assert_eq!(triads(&run("x6440-8380", &clocked)), triads(&run("x6440-8384", &Variant::default())));
}

#[test]
fn no_prediction_changes_if_every_published_number_does() {
    for known in known_machines_of(MachineKind::Sockets) {
        let name = known.name;
        let honest = machine(name);
        let mut forged = honest.clone();
        for one in &mut forged.published {
            one.triad_mb_per_s *= 3.7;
        }
        for variant in [Variant::default(), Variant { core_hz: Some(Hertz(2e9)), ..Variant::default() }] {
            let mut honest = simulate(&honest, &variant).expect(name);
            let mut forged = simulate(&forged, &variant).expect(name);
            for simulation in [&mut honest, &mut forged] {
                (simulation.rms_percent, simulation.max_percent) = (None, None);
                simulation.description.published.clear();
                for row in &mut simulation.rows {
                    (row.published_mb_per_s, row.error_percent) = (None, None);
                }
            }
            assert_eq!(honest, forged, "{name}");
        }
    }
}

#[test]
fn the_same_bandwidth_has_many_readings() {
    let simulation = run("x6440-8380", &Variant::default());
    let hops: Vec<f64> = simulation.degeneracy.iter().filter_map(|one| one.hop_round_trip_ns).collect();
    assert_eq!(hops.len(), 4);
    let (low, high) =
        hops.iter().fold((f64::MAX, 0.0_f64), |(low, high), hop| (low.min(*hop), high.max(*hop)));
    assert!(low < 15.5 && high > 29.0, "{hops:?}");
    let alike = simulation.likeness.expect("few sockets");
    // The two chains through 1 and 2 have the same sockets far, by one link more.
    assert_eq!((alike.graphs, alike.same_eccentricities, alike.same_order), (38, 1, 2));
}

#[test]
fn the_relatives_say_only_what_is_known_of_them() {
    let ranger = run("ranger-x6420", &Variant::default());
    let latencies: Vec<f64> = ranger.rows.iter().map(|row| row.latency_ns).collect();
    assert_eq!(latencies, [130.0, 100.0, 100.0, 130.0]);
    assert!(ranger.rows.iter().all(|row| row.triad_mb_per_s.is_none()));
    let shanghai = triads(&run("shanghai-2s", &Variant::default()));
    assert!((shanghai[0] - shanghai[1]).abs() < 1e-9 && shanghai[0] > 5000.0);
    let istanbul = run("istanbul-4s-probe-filter", &Variant::default());
    assert!(istanbul.rows.iter().all(|row| (row.latency_ns - 54.0).abs() < 1e-9));
}
