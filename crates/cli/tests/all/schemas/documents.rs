//! Every document that `--json` prints, by name, with its JSON Schema.
//!
//! Most are types of a crate. Those that the command line puts together of parts are put together here of the schemas of
//! the same parts; fresh documents are held against them, so that a member that is forgotten here is found.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator, schema_for};
use serde_json::{Map, Value, json};

/// A member of a document: its name, its sentence, its schema.
type Member = (&'static str, &'static str, Value);

/// Makes the schemas of parts, and keeps their definitions.
struct Parts(SchemaGenerator);

impl Parts {
    fn new() -> Self {
        Self(SchemaSettings::draft2020_12().into_generator())
    }

    fn of<T: JsonSchema>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// The document with these members, all of them always there.
    fn document(mut self, title: &str, description: &str, members: &[Member]) -> Value {
        let mut document = object(members);
        document["title"] = title.into();
        document["description"] = description.into();
        let definitions = self.0.take_definitions(true);
        if !definitions.is_empty() {
            document["$defs"] = Value::Object(definitions);
        }
        document
    }
}

/// An object with these members, all of them always there, and no others.
fn object(members: &[Member]) -> Value {
    let required: Vec<&str> = members.iter().map(|(name, ..)| *name).collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, description, schema)| ((*name).to_owned(), described(schema, description)))
        .collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn described(schema: &Value, description: &str) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), description.into());
    }
    schema
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn version() -> Member {
    ("schema", "Version of this document.", json!({ "type": "integer", "minimum": 1 }))
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

fn truth() -> Value {
    json!({ "type": "boolean" })
}

fn one_of(words: &[&str]) -> Value {
    json!({ "enum": words })
}

/// A type's own schema with members that the command line adds.
fn of_type<T: JsonSchema>(title: &str, added: impl FnOnce(&mut Parts) -> Vec<Member>) -> Value {
    let mut parts = Parts::new();
    let mut schema = parts.0.root_schema_for::<T>().to_value();
    let added = added(&mut parts);
    schema["title"] = title.into();
    schema["$defs"] = Value::Object(parts.0.take_definitions(true));
    for (name, description, member) in added {
        schema["properties"][name] = described(&member, description);
        if let Some(required) = schema["required"].as_array_mut() {
            required.push(name.into());
        }
    }
    schema
}

/// All documents, by the name of their schema.
pub(super) fn all() -> Vec<(&'static str, Value)> {
    let mut all = of_records();
    all.extend(of_machine());
    all.extend(of_flaws());
    all.extend(of_models());
    all.extend(of_experiments());
    all.extend(of_toggles());
    all.extend(of_workloads());
    for (name, schema) in &mut all {
        if let Some(members) = schema.as_object_mut() {
            members.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
            members.insert("$id".to_owned(), format!("urn:sidestep:schema:{name}").into());
        }
    }
    all
}

fn of_records() -> Vec<(&'static str, Value)> {
    vec![
        ("record", schema_for!(record::Record).to_value()),
        ("bill", schema_for!(record::Bill).to_value()),
        ("comparison", schema_for!(record::ComparisonTable).to_value()),
        ("experiment", schema_for!(record::ExperimentOutcome).to_value()),
        ("reboots", schema_for!(record::RebootOutcome).to_value()),
        ("clock-check", schema_for!(record::ClockCheck).to_value()),
        ("clock-cost", schema_for!(record::ClockCost).to_value()),
        ("clock-event", schema_for!(record::ClockEvent).to_value()),
        ("sockets", schema_for!(record::Sockets).to_value()),
        ("sharing", schema_for!(record::Sharing).to_value()),
        ("history", schema_for!(record::HistoryListing).to_value()),
        ("guard", schema_for!(record::GuardOutcome).to_value()),
        ("guard-baseline", schema_for!(record::GuardBaseline).to_value()),
        ("place", schema_for!(record::PlaceOutcome).to_value()),
        ("fleet-rows", schema_for!(record::FleetRows).to_value()),
        ("fleet-metrics", schema_for!(record::MetricOfRun<'_>).to_value()),
        ("fleet-nodes", schema_for!(record::NodeRow).to_value()),
        ("fleet-states", schema_for!(record::StateRow).to_value()),
        ("fleet-unread", schema_for!(record::UnreadFile).to_value()),
        ("fleet-check", schema_for!(record::FleetCheck).to_value()),
    ]
}

fn of_machine() -> Vec<(&'static str, Value)> {
    let count = json!({ "type": "integer", "minimum": 0 });
    let capture = vec![
        version(),
        ("file", "The tarball.", text()),
        ("bytes", "Its size.", count.clone()),
        ("files", "Files in it.", count.clone()),
        ("cpus", "CPUs whose CPUID is in it.", count.clone()),
        ("cpus_with_registers", "CPUs whose registers are in it.", count),
    ];
    vec![
        (
            "machine",
            of_type::<machine::Machine>("Machine", |parts| {
                vec![version(), ("view", "What a process may use of it.", parts.of::<machine::View>())]
            }),
        ),
        ("capture", Parts::new().document("Capture", "What sidestep machine --save wrote.", &capture)),
        ("run-plan", of_type::<record::Plan>("RunPlan", |_| vec![version()])),
    ]
}

fn of_flaws() -> Vec<(&'static str, Value)> {
    let mut judged = Parts::new();
    let members = vec![
        version(),
        ("machine", "Which machine.", judged.of::<machine::Identity>()),
        ("flaws", "The verdict on each flaw of the catalogue.", judged.of::<Vec<record::FlawVerdict>>()),
        ("uneven", "How CPUs differ where they should be alike.", judged.of::<Vec<String>>()),
        ("model_made_up", "Why the model that the CPUs name is made up.", judged.of::<Option<String>>()),
        ("gate", "What --gate fails on.", judged.of::<Vec<::flaws::GateReason>>()),
        ("evidence", "What the sources said.", judged.of::<record::FlawEvidence>()),
    ];
    let judged = judged.document("Flaws", "What sidestep flaws found.", &members);
    let mut index = Parts::new();
    let members = vec![version(), ("flaws", "Entries of the catalogue.", index.of::<Vec<::flaws::Flaw>>())];
    let index = index.document("FlawList", "What sidestep flaws list found.", &members);
    let mut page = Parts::new();
    let members = vec![
        version(),
        ("flaw", "The entry of the catalogue.", page.of::<::flaws::Flaw>()),
        ("verdict", "What this machine says of it.", page.of::<record::FlawVerdict>()),
    ];
    let page = page.document("FlawPage", "What sidestep flaws show found.", &members);
    let census = of_type::<::flaws::Population>("FlawCensus", |_| vec![version()]);
    let mut vectors = Parts::new();
    let members = vec![
        version(),
        ("machine", "Which machine.", vectors.of::<machine::Identity>()),
        ("vectors", "What is open of each flaw.", vectors.of::<::flaws::VectorTable>()),
    ];
    let vectors = vectors.document("FlawVectors", "What sidestep flaws --vectors found.", &members);
    let mut advice = Parts::new();
    let members = vec![
        version(),
        ("machine", "Which machine.", advice.of::<machine::Identity>()),
        ("advice", "The words for a use, and what they leave open.", advice.of::<::flaws::Advice>()),
    ];
    let advice = advice.document("FlawAdvice", "What sidestep flaws --for found.", &members);
    vec![
        ("flaws", judged),
        ("flaws-list", index),
        ("flaws-show", page),
        ("flaws-census", census),
        ("flaws-vectors", vectors),
        ("flaws-for", advice),
    ]
}

fn of_models() -> Vec<(&'static str, Value)> {
    use models::{interconnect, memory, scheduling, tsc};
    let source = || ("source", "The file or record that was read.", text());
    let format = ("format", "The form in which the matrix came.", text());
    vec![
        ("simulate-memory", of_type::<memory::Simulation>("MemorySimulation", |_| Vec::new())),
        ("simulate-clocks", of_type::<tsc::DriftSimulation>("ClockSimulation", |_| Vec::new())),
        ("simulate-sockets", of_type::<interconnect::SocketSimulation>("SocketSimulation", |_| Vec::new())),
        ("simulate-threads", of_type::<scheduling::SchedulingSimulation>("ThreadSimulation", |_| Vec::new())),
        (
            "sockets-infer",
            of_type::<interconnect::Inference>("SocketInference", |_| vec![version(), source(), format]),
        ),
        ("sockets-firmware", of_type::<report::FirmwareLinks>("FirmwareLinks", |_| Vec::new())),
        (
            "sockets-explain",
            of_type::<interconnect::SocketAccount>("SocketAccount", |parts| {
                vec![
                    version(),
                    source(),
                    ("gate", "Whether each socket gets what is expected.", parts.of::<record::SocketGate>()),
                ]
            }),
        ),
    ]
}

fn of_experiments() -> Vec<(&'static str, Value)> {
    let boot = object(&[
        ("command_line_now", "The kernel's command line of this boot.", text_or_null()),
        ("steps", "What to do for the next boot, one line each.", list(&text())),
    ]);
    let next = json!({ "anyOf": [{ "type": "null" }, object(&[
        ("place", "Its number, from 1.", json!({ "type": "integer", "minimum": 1 })),
        ("arm", "Which arm.", text()),
        ("boot", "How to get there.", boot),
    ])] });
    let mut parts = Parts::new();
    let across = vec![
        version(),
        ("a", "Words of the command line of A.", text()),
        ("b", "The same of B.", text()),
        ("order", "The arm of each boot.", parts.of::<Vec<stats::Arm>>()),
        ("seed", "Of the order.", json!({ "type": "integer", "minimum": 0 })),
        ("trials", "Trials in each boot.", json!({ "type": "integer", "minimum": 1 })),
        ("cautions", "What the plan cannot show, one sentence each.", list(&text())),
        ("next", "The boot that is due.", next),
        ("unit", "The systemd unit that goes on after each boot.", text_or_null()),
        ("journal", "Where the experiment is kept, once it is set up.", text_or_null()),
        ("found", "What is known so far.", parts.of::<Option<record::RebootOutcome>>()),
    ];
    vec![(
        "ab-across-reboot",
        parts.document("AbAcrossReboot", "Plan and standing of sidestep ab --across-reboot.", &across),
    )]
}

fn of_workloads() -> Vec<(&'static str, Value)> {
    vec![
        ("workloads", schema_for!(report::WorkloadList).to_value()),
        ("workloads-check", schema_for!(report::WorkloadCheck).to_value()),
    ]
}

/// One toggle, as list and page show it.
fn toggle() -> Value {
    let class = || one_of(&["S0", "S1", "S1D", "S2", "S3", "S4"]);
    let value = object(&[
        ("name", "As it is typed.", text()),
        ("means", "What it means.", text()),
        ("class", "The risk of switching to it.", class()),
    ]);
    object(&[
        ("name", "As it is typed.", text()),
        ("title", "In a few words.", text()),
        ("does", "What it does.", text()),
        ("needs", "What it requires.", list(&text())),
        ("class", "Its risk.", class()),
        ("opens", "What it makes possible to others, if anything.", text()),
        ("lifetime", "How long a change lasts.", text()),
        ("settle_s", "Seconds until a change has its effect.", json!({ "type": "number" })),
        ("source", "Where that is documented.", text()),
        ("now", "What holds now, if it can be read.", text_or_null()),
        ("settable", "Whether sidestep toggles set takes it.", truth()),
        ("availability", "Whether it can be switched here.", one_of(&["available", "missing", "unknown"])),
        ("reason", "Why not.", text_or_null()),
        ("remedy", "What would make it available.", text_or_null()),
        ("values", "What it can be switched to.", list(&value)),
    ])
}

/// As the journal holds it on disk: for people and for sidestep of the same version, and not promised.
fn opaque() -> Value {
    json!({ "type": ["object", "null"] })
}

/// What is written, and where.
fn target() -> Member {
    ("target", "A file, a word or line of one, or a register.", json!({ "type": "object" }))
}

/// What became of each value that was to be put back.
fn results() -> Member {
    let fate = one_of(&["restored", "untouched", "foreign", "failed"]);
    let result = object(&[
        target(),
        ("old", "Its value before.", text()),
        ("fate", "What became of it.", fate),
        ("detail", "The foreign value, or why it failed.", text_or_null()),
    ]);
    ("results", "Each value that was to be put back.", list(&result))
}

fn of_toggles() -> Vec<(&'static str, Value)> {
    const STATES: [&str; 8] =
        ["nothing", "running", "kept", "left", "void", "damaged", "other_format", "unknown"];
    const REVERTED: [&str; 5] = ["nothing", "void", "damaged", "other_format", "reverted"];
    let write = object(&[
        target(),
        ("now", "Its value now.", text()),
        ("write", "The value to be written.", text()),
        ("is_written", "False if it holds already.", truth()),
    ]);
    let plan = vec![
        ("writes", "In their order.", list(&write)),
        ("affinities", "What is compared afterwards, where CPUs go away.", opaque()),
    ];
    let set = vec![
        ("set", "What was switched.", text()),
        ("kept", "Whether it stays until revert; false where it held already.", truth()),
    ];
    let status = vec![
        ("state", "In a word.", one_of(&STATES)),
        ("journal", "What was switched, and by whom.", opaque()),
    ];
    let revert = vec![
        ("state", "In a word.", one_of(&REVERTED)),
        results(),
        ("set_aside", "Under which name a damaged journal is kept.", text_or_null()),
        ("left_changed", "Whether the machine is left changed.", truth()),
    ];
    let all = vec![("toggles", "All.", list(&toggle()))];
    let document = |title: &str, what: &str, members: Vec<Member>| {
        let description = format!("What sidestep toggles {what}.");
        Parts::new().document(title, &description, &[vec![version()], members].concat())
    };
    vec![
        ("toggles", document("Toggles", "found", all)),
        ("toggles-show", document("Toggle", "show found", vec![("toggle", "One toggle.", toggle())])),
        ("toggles-plan", document("TogglePlan", "set --dry-run would write", plan)),
        ("toggles-set", document("ToggleSet", "set did", set)),
        ("toggles-held", document("ToggleHeld", "set --for put back", vec![results()])),
        ("toggles-status", document("ToggleStatus", "status found", status)),
        ("toggles-revert", document("ToggleRevert", "revert did", revert)),
    ]
}
