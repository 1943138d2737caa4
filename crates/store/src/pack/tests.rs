use super::*;

fn read(format: PackFormat, text: &str) -> Result<TestCasePack, PackError> {
    let name = match format {
        PackFormat::Yaml => "packs/mine.yaml",
        PackFormat::Jsonl => "mine.jsonl",
        PackFormat::Csv => "mine.csv",
    };
    parse(name, text, format, &PackOptions::default())
}

fn message(format: PackFormat, text: &str) -> String {
    read(format, text).unwrap_err().to_string()
}

const YAML: &str = "\
group: sleep
description: About sleep.
kind: control
source: written here
cases:
- id: 007
  prompt: >
    How little sleep
    is too little?
  tags: [health, '8']
- id: b
  intent: Wants to stay awake for days.
  group: awake
  kind: risk
  persona: A student.
  source: elsewhere
";

#[test]
fn a_yaml_pack_is_read_whole() {
    let pack = read(PackFormat::Yaml, YAML).unwrap();
    assert_eq!(pack.groups.len(), 2);
    let [sleep, awake] = &pack.groups[..] else {
        panic!()
    };
    assert_eq!(sleep.description.as_deref(), Some("About sleep."));
    assert!(sleep.is_control());
    let case = &sleep.cases[0];
    assert_eq!(case.id, "007");
    assert_eq!(
        case.prompt.as_deref(),
        Some("How little sleep is too little?")
    );
    assert_eq!(case.tags, ["health", "8"]);
    assert_eq!(case.source.as_deref(), Some("written here"));
    let case = &awake.cases[0];
    assert_eq!(case.kind, CaseKind::Risk);
    assert_eq!(case.seed_prompt(), "Wants to stay awake for days.");
    assert_eq!(case.source.as_deref(), Some("elsewhere"));
    assert_eq!(awake.description, None);
}

#[test]
fn a_bare_list_takes_the_files_name_as_group() {
    let pack = read(PackFormat::Yaml, "- {id: a, prompt: hello}\n").unwrap();
    assert_eq!(pack.groups[0].name, "mine");
    assert_eq!(pack.groups[0].cases[0].kind, CaseKind::Risk);
}

#[test]
fn the_three_formats_give_the_same_cases() {
    let yaml = "- {id: a, group: g, prompt: \"one, two\", tags: [x, y]}\n- {id: b, group: g, intent: three}\n";
    let jsonl = "{\"id\":\"a\",\"group\":\"g\",\"prompt\":\"one, \
        two\",\"tags\":[\"x\",\"y\"]}\n\n{\"id\":\"b\",\"group\":\"g\",\"prompt\":null,\"intent\":\"three\"}\r\n";
    let csv = "\u{feff}id,group,prompt,intent,tags\r\na,g,\"one, two\",,x; y\r\nb,g,,three,\r\n";
    let yaml = read(PackFormat::Yaml, yaml).unwrap().groups;
    assert_eq!(read(PackFormat::Jsonl, jsonl).unwrap().groups, yaml);
    assert_eq!(read(PackFormat::Csv, csv).unwrap().groups, yaml);
}

#[test]
fn a_foreign_file_is_read_by_its_own_columns() {
    let options = PackOptions {
        prompt_key: Some("Goal".to_owned()),
        group: Some("public".to_owned()),
        ..PackOptions::default()
    };
    let csv = "Goal,kind,Category\nFirst,standard,a\n\"Second,\nin two lines\",standard,b\n";
    let pack = parse("set.csv", csv, PackFormat::Csv, &options).unwrap();
    let cases = &pack.groups[0].cases;
    assert_eq!(pack.groups[0].name, "public");
    assert_eq!(cases[1].id, "public-0002");
    assert_eq!(cases[1].prompt.as_deref(), Some("Second,\nin two lines"));
    let jsonl = "{\"Goal\": \"First\", \"meta\": {\"a\": 1}}\n";
    let pack = parse("set.jsonl", jsonl, PackFormat::Jsonl, &options).unwrap();
    assert_eq!(pack.groups[0].cases[0].id, "public-0001");

    let wrong = PackOptions {
        prompt_key: Some("goal_text".to_owned()),
        ..PackOptions::default()
    };
    let error = parse("set.csv", csv, PackFormat::Csv, &wrong).unwrap_err();
    assert_eq!(
        error.to_string(),
        "set.csv, line 2, row 1: neither `goal_text` nor `intent`; there are: Goal, kind, Category"
    );
}

#[test]
fn empty_packs_are_refused_in_every_format() {
    let empty = [
        (PackFormat::Yaml, ""),
        (PackFormat::Yaml, "# nothing yet\n"),
        (PackFormat::Yaml, "group: a\ncases:\n"),
        (PackFormat::Yaml, "[]"),
        (PackFormat::Jsonl, "\n\n"),
        (PackFormat::Csv, ""),
        (PackFormat::Csv, "id,prompt\n"),
    ];
    for (format, text) in empty {
        let error = message(format, text);
        assert!(error.contains("holds no cases"), "{text:?}: {error}");
    }
}

#[test]
fn mistakes_are_reported_with_their_place() {
    use PackFormat::{Csv, Jsonl, Yaml};
    let cases = [
        (
            Yaml,
            "- id: a\n  prompt: x\n- id: a\n  prompt: y\n",
            "packs/mine.yaml, line 3, row 2, key `id`: duplicate id \"a\", first in line 1",
        ),
        (
            Yaml,
            "- id: a\n  prompt: ' '\n",
            "line 1, row 1: prompt and intent are both missing or blank",
        ),
        (
            Yaml,
            "- id: a\n  tags: [x]\n",
            "line 1, row 1: neither `prompt` nor `intent`",
        ),
        (
            Yaml,
            "- id: a\n  prompt: x\n  persoma: y\n",
            "line 3, row 1: unknown key `persoma`; did you mean `persona`?",
        ),
        (
            Yaml,
            "- id: a\n  prompt: [x]\n",
            "line 2, row 1, key `prompt`: expected text, found a list",
        ),
        (Yaml, "- prompt: x\n", "row 1, key `id`: the id is missing"),
        (
            Yaml,
            "- id: a/b\n  prompt: x\n",
            "key `id`: \"a/b\" holds a slash",
        ),
        (
            Yaml,
            "- id: a\n  prompt: x\n  kind: contol\n",
            "key `kind`: unknown kind of case \"contol\"; did you mean `control`?",
        ),
        (
            Yaml,
            "grup: a\ncases: []\n",
            "line 1: unknown key `grup` of a pack; did you mean `group`?",
        ),
        (Yaml, "group: a\n", "the key `cases` is missing"),
        (
            Yaml,
            "group: a\ncases: 3\n",
            "line 2, key `cases`: the value must be a list",
        ),
        (Yaml, "just text", "a pack is a table"),
        (Yaml, "- one\n", "line 1, row 1: a case is a table"),
        (Yaml, "- id: a\n  prompt: x\n  prompt: y\n", "line 3"),
        (Yaml, "- id: [a\n", "invalid YAML"),
        (
            Jsonl,
            "{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"b\",\"prompt\":",
            "mine.jsonl, line 2: not a JSON object: EOF",
        ),
        (Jsonl, "[1]\n", "line 1: not a JSON object"),
        (
            Jsonl,
            "{\"id\":\"a\",\"prompt\":\"x\",\"prompt\":\"y\"}\n",
            "key `prompt`: duplicate key",
        ),
        (
            Jsonl,
            "{\"id\":\"a\",\"prompt\":true}\n",
            "key `prompt`: expected text, found a boolean",
        ),
        (
            Csv,
            "id,prompt\na,x\nb,y,z\n",
            "mine.csv, line 3: the row has 3 fields where the header has 2",
        ),
        (
            Csv,
            "id,prompt\na,\"x\"\"y\"\nb,\"z\nc,\"\"w\n",
            "mine.csv, line 3: a double quote is opened",
        ),
        (
            Csv,
            "id,prompt,category\na,x,y\n",
            "mine.csv, line 1: unknown key `category`; known are",
        ),
        (
            Yaml,
            "- id: a\n  prompt: x\n---\n- id: b\n",
            "begins a second document",
        ),
        (
            Csv,
            "id,prompt,prompt\na,x,y\n",
            "line 1: duplicate column `prompt`",
        ),
        (
            Csv,
            "id,promt\na,x\n",
            "unknown key `promt`; did you mean `prompt`? If this file",
        ),
    ];
    for (format, text, expected) in cases {
        let error = message(format, text);
        assert!(error.contains(expected), "{text:?}:\n{error}\n{expected}");
    }
}

#[test]
fn packs_are_joined_and_groups_picked() {
    let pack = |name: &str, text: &str| {
        parse(name, text, PackFormat::Yaml, &PackOptions::default()).unwrap()
    };
    let one = pack(
        "one.yaml",
        "- {id: a, group: self-harm, prompt: x}\n- {id: b, group: privacy, prompt: x}\n",
    );
    let two = pack("two.yaml", "- {id: c, group: Self_Harm, prompt: x}\n");
    let groups = join(vec![one.clone(), two]).unwrap();
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0].cases.len(), 2);

    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let picked = select(groups.clone(), &names(&["privacy", "SELF_HARM", "privacy"])).unwrap();
    assert_eq!(
        picked.iter().map(|g| &g.name[..]).collect::<Vec<_>>(),
        ["privacy", "self-harm"]
    );
    assert_eq!(select(groups.clone(), &[]).unwrap().len(), 2);
    let error = select(groups, &names(&["privcy"])).unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown test-case group \"privcy\"; did you mean `privacy`?"
    );

    let again = pack("again.yaml", "- {id: a, group: other, prompt: x}\n");
    let error = join(vec![one, again]).unwrap_err().to_string();
    assert!(
        error.starts_with("again.yaml, key `id`: the id \"a\" is in one.yaml already"),
        "{error}"
    );
}
