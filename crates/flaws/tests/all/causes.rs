//! Every cause that an entry names, with the fix that follows: made machines, one fault each, against a saved table.
//! `UPDATE_EXPECT=1` writes the table anew; read the difference before you commit it.

use std::fmt::Write as _;
use std::path::Path;

use flaws::{
    Advice, AppliedBy, Architecture, Catalogue, CausesOf, Choice, CpuRange, Flaw, Purpose, VectorTable,
    catalogue, judge,
};
use record::{
    AttackVector, CauseKind, CpuSignature, FlawEvidence, FlawVerdict, Protection, Reading, VectorState,
};

/// A release that knows attack vectors.
const NEW: &str = "6.18.44";

fn of(catalogue: &Catalogue, evidence: &FlawEvidence, id: &str) -> FlawVerdict {
    judge(catalogue, evidence).into_iter().find(|verdict| verdict.id == id).expect("it is in the catalogue")
}

/// What the kernel writes of a flaw that it does nothing against, or the least of its two words.
fn open_text(flaw: &Flaw) -> String {
    match (flaw.id.as_str(), flaw.vulnerability_part.as_deref()) {
        ("spectre-v2-user", _) => "Mitigation: Retpolines; IBPB: disabled; STIBP: disabled".to_owned(),
        ("spectre-bhb", _) => "Mitigation: CSV2, but not BHB".to_owned(),
        ("amd-lfence-jmp", _) => "Vulnerable: LFENCE; IBPB: conditional".to_owned(),
        ("itlb-multihit", _) => "KVM: Vulnerable".to_owned(),
        (_, Some(part)) => format!("Mitigation: Enhanced IBRS; {part}: Vulnerable"),
        (_, None) => "Vulnerable".to_owned(),
    }
}

/// Who has a flaw, by the entry's lists; its vendor where only that is known.
fn affected_cpu(flaw: &Flaw) -> CpuSignature {
    let vendor = flaw.possible.as_ref().map_or("GenuineIntel", |possible| possible.vendors[0].as_str());
    let mut cpu = CpuSignature { vendor: Some(vendor.to_owned()), ..CpuSignature::default() };
    match flaw.affected.first() {
        Some(CpuRange::X86(range)) => {
            cpu.vendor = Some(range.vendor.clone());
            cpu.family = Some(range.family);
            cpu.model = range.models.first().map(|models| models[0]);
            cpu.stepping = range.steppings.first().map(|steppings| steppings[0]);
        }
        Some(CpuRange::Arm(range)) => {
            let (implementer, part) = (range.implementer, range.parts[0]);
            cpu.arm =
                Some(machine::ArmSignature { implementer, part, variant: 0, revision: 0, repairs: None });
        }
        None => cpu.family = Some(6),
    }
    cpu
}

/// A machine with the flaw and nothing against it, whose kernel was built with everything and whose CPU has every flag.
fn machine(flaw: &Flaw) -> FlawEvidence {
    let mut evidence = FlawEvidence {
        cpus: vec![affected_cpu(flaw)],
        kernel_release: Some(NEW.to_owned()),
        command_line: Some("ro quiet".to_owned()),
        ..FlawEvidence::default()
    };
    let needed = flaw.need.iter().filter_map(|need| need.flag.clone());
    let fixing = flaw.workaround.iter().flat_map(|workaround| workaround.fix_flags.clone());
    evidence.flags = ["fpu".to_owned()].into_iter().chain(needed).chain(fixing).collect();
    evidence.flags.extend(flaw.causes.of.iter().flat_map(|of| of.default_flags.clone()));
    evidence.kernel_options = catalogue()
        .registers()
        .kernel_options
        .into_iter()
        .map(|name| (name.clone(), !name.contains("_CMDLINE_")))
        .collect();
    if let Some(file) = &flaw.vulnerability_file {
        evidence.vulnerabilities = Some([(file.clone(), Reading::Is(open_text(flaw)))].into());
    }
    evidence
}

/// One fault at a time: what it is called, and the machine that has it.
fn faults(flaw: &Flaw) -> Vec<(String, FlawEvidence)> {
    let causes = &flaw.causes;
    let whole = machine(flaw);
    let with = |change: &dyn Fn(&mut FlawEvidence)| {
        let mut evidence = whole.clone();
        change(&mut evidence);
        evidence
    };
    let booted = |words: &str| with(&|evidence| evidence.command_line = Some(format!("ro {words} quiet")));
    let mut found = vec![("nothing known".to_owned(), whole.clone())];
    found.extend(causes.off_words.iter().map(|word| (word.clone(), booted(word))));
    found.extend(causes.of.iter().flat_map(|of| faults_of(flaw, of)));
    let built_in = |word: &str| FlawEvidence { built_in_words: Some(word.to_owned()), ..booted(word) };
    found.extend(causes.off_words.iter().map(|word| (format!("{word}, built in"), built_in(word))));
    let is_of_kernel = flaw.vulnerability_file.is_some();
    if !is_of_kernel {
        return found;
    }
    found.push(("mitigations=off".to_owned(), booted("mitigations=off")));
    found.push(("mitigations=off, built in".to_owned(), built_in("mitigations=off")));
    let old = FlawEvidence { kernel_release: Some("6.12.1".to_owned()), ..built_in("mitigations=off") };
    found.push(("mitigations=off, built into Linux 6.12".to_owned(), old.clone()));
    let alone = old
        .kernel_options
        .clone()
        .into_iter()
        .chain([("CONFIG_CMDLINE_OVERRIDE".to_owned(), true)])
        .collect();
    found.push(("mitigations=off, built in alone".to_owned(), FlawEvidence { kernel_options: alone, ..old }));
    let options = causes.kernel_default.iter().chain(&causes.kernel_code);
    found.extend(options.map(|option| {
        (format!("{option}=n"), with(&|evidence| evidence.kernel_options.extend([(option.clone(), false)])))
    }));
    if !flaw.attack_vectors().is_empty() {
        let words: Vec<&str> = AttackVector::ALL.iter().map(|vector| vector.word()).collect();
        let words = format!("mitigations=auto,{}", words.join(","));
        found.push(("all vectors excluded".to_owned(), booted(&words)));
        let without =
            |evidence: &mut FlawEvidence| evidence.kernel_options.extend([("CONFIG_KVM".to_owned(), false)]);
        found.push(("CONFIG_KVM=n".to_owned(), with(&without)));
        let unread = |evidence: &mut FlawEvidence| evidence.kernel_options.clear();
        found.push(("configuration not read".to_owned(), with(&unread)));
    }
    found.extend(lacks(flaw));
    found
}

/// The faults of CPUs that an entry says something special of.
fn faults_of(flaw: &Flaw, of: &CausesOf) -> Vec<(String, FlawEvidence)> {
    let mut whole = machine(flaw);
    let mut conditions = of.vendors.first().cloned().into_iter().collect::<Vec<_>>();
    if let Some(vendor) = of.vendors.first() {
        whole.cpus[0].vendor = Some(vendor.clone());
    }
    if let Some(flag) = &of.without_flag {
        whole.flags.retain(|have| have != flag);
        conditions.push(format!("without {flag}"));
    }
    if let Some(bit) = &of.eax_bit {
        let name = record::pair_key(bit.leaf, 0);
        conditions.push(format!("CPUID {name} EAX[{}]", bit.bit));
        whole.cpuid.insert(name, [1 << bit.bit, 0, 0, 0]);
    }
    let named = |fault: &str| format!("{}: {fault}", conditions.join(" "));
    let mut found = Vec::new();
    for word in &of.off_words {
        let command_line = Some(format!("ro {word} quiet"));
        found.push((named(word), FlawEvidence { command_line, ..whole.clone() }));
    }
    let special =
        of.kernel_code.iter().chain(flaw.causes.kernel_code.iter().filter(|_| !of.kernel_code.is_empty()));
    for option in special {
        let mut without = whole.clone();
        without.kernel_options.insert(option.clone(), false);
        found.push((named(&format!("{option}=n")), without));
    }
    for vector in &of.safe {
        let others = flaw.attack_vectors().iter().filter(|other| *other != vector);
        let words: Vec<&str> = others.map(|other| other.word()).collect();
        let command_line = Some(format!("mitigations=auto,{}", words.join(",")));
        found.push((
            named(&format!("all vectors but {}", vector.name())),
            FlawEvidence { command_line, ..whole.clone() },
        ));
    }
    found
}

/// The same for what CPU, hypervisor or microcode do not offer.
fn lacks(flaw: &Flaw) -> Vec<(String, FlawEvidence)> {
    let causes = &flaw.causes;
    let with = |change: &dyn Fn(&mut FlawEvidence)| {
        let mut evidence = machine(flaw);
        change(&mut evidence);
        evidence
    };
    let mut found = Vec::new();
    let asks = flaw.workaround.iter().any(|workaround| !workaround.fix_flags.is_empty());
    if asks || causes.of.iter().any(|of| !of.default_flags.is_empty()) {
        let without = |evidence: &mut FlawEvidence| evidence.flags = vec!["fpu".to_owned()];
        found.push(("no such flag".to_owned(), with(&without)));
        found.push((
            "no such flag, in a guest".to_owned(),
            with(&|evidence| {
                without(evidence);
                evidence.hypervisor = Some("KVM".to_owned());
            }),
        ));
    }
    for software in &causes.software {
        let [file, text] = &software.with;
        let lacking = |evidence: &mut FlawEvidence| {
            evidence.flags = vec!["fpu".to_owned()];
            evidence.hypervisor = Some("KVM".to_owned());
            let files = evidence.vulnerabilities.get_or_insert_default();
            files.insert(file.clone(), Reading::Is(format!("Mitigation: {text}; RSB filling")));
        };
        found.push(("no such flag, in a guest, software at hand".to_owned(), with(&lacking)));
        found.extend(software.kernel_options.iter().map(|option| {
            let without = |evidence: &mut FlawEvidence| {
                lacking(evidence);
                evidence.kernel_options.extend([(option.clone(), false)]);
            };
            (format!("no such flag, in a guest, {option}=n"), with(&without))
        }));
    }
    let is_alone = flaw.vulnerability_part.is_none();
    if is_alone && flaw.workaround.iter().any(|workaround| workaround.by.contains(&AppliedBy::Microcode)) {
        let text = |evidence: &mut FlawEvidence| {
            let file = flaw.vulnerability_file.clone().expect("it has one");
            evidence.vulnerabilities =
                Some([(file, Reading::Is("Vulnerable: No microcode".to_owned()))].into());
        };
        found.push(("no microcode".to_owned(), with(&text)));
        found.push((
            "no microcode, in a guest".to_owned(),
            with(&|evidence| {
                text(evidence);
                evidence.hypervisor = Some("KVM".to_owned());
            }),
        ));
    }
    found
}

fn line(id: &str, fault: &str, verdict: &FlawVerdict) -> String {
    let cause = verdict.cause.as_ref().expect("it is not protected");
    let fix = verdict.fix.as_deref().unwrap_or("-");
    let kind = serde_json::to_value(cause.kind).expect("a word");
    format!("{id} | {fault} | {} | {} | {fix}", kind.as_str().expect("a word"), cause.names.join(" "))
}

#[test]
fn every_cause_of_every_flaw_that_has_a_switch_leads_to_its_fix() {
    let catalogue = catalogue();
    let mut table = String::new();
    // The kernel names the filling of return buffers only where it is done: no text calls it open.
    let has_open_text = |flaw: &&Flaw| flaw.vulnerability_part.as_deref() != Some("RSB filling");
    let with_causes = catalogue.flaws.iter().filter(|flaw| flaw.causes != flaws::Causes::default());
    for flaw in with_causes.filter(has_open_text) {
        for (fault, evidence) in faults(flaw) {
            let verdict = of(&catalogue, &evidence, &flaw.id);
            if verdict.cause.is_some() {
                writeln!(table, "{}", line(&flaw.id, &fault, &verdict)).expect("memory");
                holds(flaw, &evidence, &verdict);
            } else {
                assert!(flaw.vulnerability_file.is_none(), "{} {fault}: {verdict:?}", flaw.id);
            }
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/causes.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &table).expect("the file is written");
    }
    let expected = std::fs::read_to_string(&file).expect("stored; UPDATE_EXPECT=1 writes it");
    assert_eq!(table, expected, "UPDATE_EXPECT=1 writes it anew");
}

/// What must hold of any cause and fix.
fn holds(flaw: &Flaw, evidence: &FlawEvidence, verdict: &FlawVerdict) {
    let (Some(cause), fix) = (&verdict.cause, verdict.fix.as_deref().unwrap_or_default()) else { return };
    let is_default = flaw
        .workaround
        .iter()
        .any(|workaround| workaround.fix_is_default && workaround.fix.as_deref() == Some(fix));
    let counters = [CauseKind::AttackVector, CauseKind::KernelConfiguration, CauseKind::ByDesign];
    let counters = counters.contains(&cause.kind) || evidence.built_in_words.is_some();
    assert!(!is_default || counters, "{}: {cause:?} {fix}", flaw.id);
    let asks_hypervisor = fix.contains("hypervisor");
    let lacks = [CauseKind::MissingFeature, CauseKind::OldMicrocode];
    assert!(!asks_hypervisor || lacks.contains(&cause.kind), "{}: {cause:?} {fix}", flaw.id);
    assert!(!asks_hypervisor || evidence.hypervisor.is_some(), "{}: {fix}", flaw.id);
    let by_word = [CauseKind::OwnWord, CauseKind::MitigationsOff];
    if by_word.contains(&cause.kind) {
        let is_removed = fix == format!("boot without {}", cause.names[0]);
        assert_ne!(is_removed, evidence.built_in_words.is_some(), "{fix}");
    }
}

#[test]
fn every_kernel_mitigation_that_a_word_switches_off_names_the_word() {
    for flaw in &catalogue().flaws {
        for workaround in &flaw.workaround {
            let boot = workaround.switch.boot.as_deref().unwrap_or_default();
            let has_off = boot.split(['|', ',', ' ', '=']).any(|value| value == "off");
            let is_fix = workaround.fix.as_deref().is_some_and(|fix| fix.ends_with("=off"));
            assert!(!has_off || is_fix || !flaw.causes.off_words.is_empty(), "{}: {boot}", flaw.id);
        }
    }
}

/// A guest on a server CPU with enhanced IBRS and without BHI_DIS_S, as hosted sandboxes boot it.
fn hosted_guest() -> FlawEvidence {
    let cpu = CpuSignature {
        vendor: Some("GenuineIntel".to_owned()),
        family: Some(6),
        model: Some(0xcf),
        stepping: Some(2),
        ..CpuSignature::default()
    };
    let v2 =
        "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: Vulnerable";
    FlawEvidence {
        cpus: vec![cpu; 2],
        hypervisor: Some("KVM".to_owned()),
        flags: ["avx2", "hypervisor", "ibpb", "ibrs", "ibrs_enhanced", "ssbd", "stibp"]
            .map(str::to_owned)
            .into(),
        kernel_release: Some(NEW.to_owned()),
        command_line: Some("mitigations=auto,no_guest_host,no_guest_guest quiet".to_owned()),
        vulnerabilities: Some([("spectre_v2".to_owned(), Reading::Is(v2.to_owned()))].into()),
        ..FlawEvidence::default()
    }
}

#[test]
fn a_kernel_that_contradicts_its_own_table_is_a_finding_and_its_own_word_the_fix() {
    let catalogue = catalogue();
    let guest = hosted_guest();
    let built = |has_kvm: bool| FlawEvidence {
        command_line: Some("quiet".to_owned()),
        kernel_options: [("CONFIG_KVM".to_owned(), has_kvm)].into(),
        ..guest.clone()
    };
    let silent = FlawEvidence { command_line: Some("quiet".to_owned()), ..guest.clone() };
    let old = FlawEvidence { kernel_release: Some("6.12.50".to_owned()), ..silent.clone() };
    let switched = FlawEvidence { command_line: Some("spectre_bhi=off".to_owned()), ..guest.clone() };
    for (evidence, kind, fix, is_finding) in [
        (&guest, CauseKind::AttackVector, "spectre_bhi=on", true),
        (&built(false), CauseKind::KernelConfiguration, "spectre_bhi=on", false),
        (&silent, CauseKind::ByDesign, "spectre_bhi=on", true),
        // With KVM built in guest_host is on by default: nothing explains it, and the default is no fix.
        (&built(true), CauseKind::Unknown, "", true),
        (&old, CauseKind::Unknown, "", false),
        (&switched, CauseKind::OwnWord, "boot without spectre_bhi=off", false),
    ] {
        let verdict = of(&catalogue, evidence, "spectre-bhi");
        let cause = verdict.cause.as_ref().map(|cause| cause.kind);
        assert_eq!((cause, verdict.fix.as_deref().unwrap_or_default()), (Some(kind), fix), "{verdict:?}");
        let found = verdict.disagreements.iter().any(|text| text.contains("guest_host alone"));
        assert_eq!(found, is_finding, "{verdict:?}");
    }
}

#[test]
fn the_words_for_a_use_keep_what_the_kernel_would_drop_against_its_table() {
    let catalogue = catalogue();
    let guest = FlawEvidence { command_line: Some("quiet".to_owned()), ..hosted_guest() };
    let verdicts = judge(&catalogue, &guest);
    let advice = |purpose| Advice::of(&catalogue, &guest, &verdicts, purpose);
    for (purpose, words) in [
        (Purpose::SharedHost, "mitigations=auto,no_guest_host,no_guest_guest spectre_bhi=on"),
        (Purpose::OwnPrograms, "mitigations=off"),
        (Purpose::VmHost, "mitigations=auto,no_user_kernel,no_user_user"),
    ] {
        let advice = advice(purpose);
        assert_eq!(advice.words, words);
        let excluded: Vec<AttackVector> = advice.excluded.iter().map(|one| one.vector).collect();
        let choice = Choice::parse(&advice.words, true);
        assert!(excluded.iter().all(|vector| !choice.is_on(*vector)), "{excluded:?}");
    }
    let of_host = advice(Purpose::VmHost);
    let user_kernel =
        of_host.excluded.iter().find(|one| one.vector == AttackVector::UserKernel).expect("excluded");
    assert!(user_kernel.flaws.iter().any(|id| id == "spectre-bhi"), "{user_kernel:?}");
    assert!(
        !user_kernel.flaws.iter().any(|id| id == "spectre-v2"),
        "guests keep it mitigated: {user_kernel:?}"
    );
}

#[test]
fn vectors_show_what_is_open_and_what_was_chosen() {
    let catalogue = catalogue();
    let guest = hosted_guest();
    let table = VectorTable::of(&catalogue, &guest, &judge(&catalogue, &guest));
    assert_eq!(table.excluded, [AttackVector::GuestHost, AttackVector::GuestGuest]);
    let bhi = table.flaws.iter().find(|row| row.id == "spectre-bhi").expect("it is here");
    assert_eq!(bhi.vectors[&AttackVector::UserKernel], VectorState::Open);
    assert_eq!(bhi.vectors[&AttackVector::GuestHost], VectorState::OffByChoice);
    assert!(bhi.disagreements.iter().any(|text| text.starts_with(flaws::BY_ITS_TABLE)));
    let v2 = table.flaws.iter().find(|row| row.id == "spectre-v2").expect("it is here");
    assert!(v2.vectors.values().all(|state| *state == VectorState::Closed), "{v2:?}");
    for (id, file, text, open) in [
        (
            "tsa",
            "tsa",
            "Mitigation: Clear CPU buffers: user/kernel boundary",
            &["guest_host", "guest_guest"][..],
        ),
        ("mds", "mds", "Mitigation: Clear CPU buffers; SMT vulnerable", &["cross_thread"][..]),
        (
            "its",
            "indirect_target_selection",
            "Mitigation: Vulnerable, KVM: Not affected",
            &["user_kernel"][..],
        ),
    ] {
        let vulnerabilities = Some([(file.to_owned(), Reading::Is(text.to_owned()))].into());
        let verdict = of(&catalogue, &FlawEvidence { vulnerabilities, ..FlawEvidence::default() }, id);
        let found = verdict.vectors.iter().filter(|(_, state)| **state == VectorState::Open);
        assert_eq!(found.map(|(vector, _)| vector.name()).collect::<Vec<_>>(), open, "{id}: {verdict:?}");
    }
}

#[test]
fn a_kernel_older_than_the_flaw_says_so_and_is_to_be_updated() {
    let catalogue = catalogue();
    let first = ["meltdown", "spectre_v1", "spectre_v2"]
        .map(|name| (name.to_owned(), Reading::Is("Not affected".to_owned())));
    let cpu = CpuSignature { model: Some(0x55), stepping: Some(7), ..hosted_guest().cpus[0].clone() };
    let evidence =
        FlawEvidence { cpus: vec![cpu], vulnerabilities: Some(first.into()), ..FlawEvidence::default() };
    let verdict = of(&catalogue, &evidence, "retbleed");
    assert_eq!(verdict.cause.as_ref().map(|cause| cause.kind), Some(CauseKind::OldKernel), "{verdict:?}");
    assert_eq!(verdict.fix.as_deref(), Some("update the kernel"));
    // A recording of some files shows nothing of the others.
    let some = [("meltdown".to_owned(), Reading::Is("Mitigation: PTI".to_owned()))].into();
    let verdict = of(&catalogue, &FlawEvidence { vulnerabilities: Some(some), ..evidence }, "retbleed");
    assert_eq!((verdict.cause, verdict.protected), (None, Protection::Unknown));
}

#[test]
fn arm64_has_its_own_words_and_no_vectors() {
    let arm = Architecture::Arm64;
    for flaw in catalogue().flaws.iter().filter(|flaw| flaw.architectures == [arm]) {
        assert!(flaw.attack_vectors().is_empty(), "{}", flaw.id);
    }
}
