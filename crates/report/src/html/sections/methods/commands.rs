//! Commands that make the results again.

use std::collections::BTreeSet;

use schema::{ProgramCommand, safety::results::RunParameters};

use super::{SectionPart, different};
use crate::{html::summary::ImportFacts, text::clean};

/// The commands, with the versions that they rest on.
pub(super) fn commands(place: &SectionPart<'_>) -> Vec<String> {
    let program = &place.summary.program;
    // No folder of a benchmark has another name, so that a command needs no quotes.
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let folder = match place.part.folder.chars().all(is_plain) {
        true => place.part.folder.as_str(),
        false => "BENCHMARK",
    };
    let on_it = |verb: &'static str| ProgramCommand::new(verb).on(folder);
    let versions = different(place, |run| run.version.clone());
    let seeds = different(place, |run| run.seed.clone());
    let revisions = different(place, |run| run.revision.clone());
    let mut about = Vec::new();
    about.extend((!versions.is_empty()).then(|| format!("Probity {}", versions.join(", "))));
    about.extend((!seeds.is_empty()).then(|| format!("seed {}", seeds.join(", "))));
    about.extend((!revisions.is_empty()).then(|| format!("revision {}", revisions.join(", "))));
    about.push(format!("statistics.json {}", place.part.statistics.format));
    let about = about.join("; ");
    if place.part.is_safety() {
        let own = safety_commands(place).into_iter();
        let commands = own.map(|command| command.text(program));
        return std::iter::once(format!("# {about}"))
            .chain(commands)
            .collect();
    }
    let first = match &place.part.imported {
        Some(imported) => import_commands(place, imported, folder),
        None => vec![on_it("run")],
    };
    let mut commands: Vec<String> = first
        .into_iter()
        .chain([on_it("report").with("format", "methods")])
        .map(|command| command.text(program))
        .collect();
    match commands.first_mut() {
        Some(first) if place.part.imported.is_none() => first.push_str(&format!("    # {about}")),
        _ => commands.insert(0, format!("# {about}")),
    }
    commands
}

/// The commands that make imported results again. Folders of the files are not on record, nor is the file of labels that a check reads.
fn import_commands(
    place: &SectionPart<'_>,
    imported: &ImportFacts,
    folder: &str,
) -> Vec<ProgramCommand> {
    let on_it = |verb: &'static str| ProgramCommand::new(verb).on(folder);
    if imported.from == "labels" {
        return Vec::new();
    }
    let mut import = ProgramCommand::new("import").on(&imported.from);
    for file in &imported.files {
        import = import.on(clean(file));
    }
    import = import.with("as", folder);
    if imported.from != "tree" {
        import = import.with("metrics", "benchmark.yaml");
        for rule in &imported.verdicts {
            import = import.with("verdicts", clean(rule));
        }
        if let Some(key) = &imported.cluster {
            import = import.with("cluster", clean(key));
        }
    }
    let judged = place.part.runs.iter().any(|run| !run.judges.is_empty());
    let mut commands = vec![import];
    commands.extend(judged.then(|| on_it("evaluate")));
    commands.push(on_it("aggregate"));
    commands
}

/// The commands of safety evaluations: one for the targets with the same settings. What is in the configuration stays there, and the files of
/// own test cases are not on record.
fn safety_commands(place: &SectionPart<'_>) -> Vec<ProgramCommand> {
    let mut found: Vec<(ProgramCommand, BTreeSet<String>)> = Vec::new();
    for file in &place.part.safety {
        let run = file
            .results
            .details()
            .and_then(|details| details.run.as_ref());
        let Some((run, command)) = run.and_then(|run| Some((run, safety_command(run)?))) else {
            continue;
        };
        let target = clean(run.target.id.as_str());
        match found.iter_mut().find(|(known, _)| *known == command) {
            Some((_, targets)) => _ = targets.insert(target),
            None => found.push((command, BTreeSet::from([target]))),
        }
    }
    let commands = found.into_iter();
    commands
        .map(|(command, targets)| {
            targets
                .into_iter()
                .fold(command, |command, target| command.with("target", target))
        })
        .collect()
}

/// The command with the settings that the file has on record.
fn safety_command(run: &RunParameters) -> Option<ProgramCommand> {
    let groups = run.groups.join(",");
    let with_most = |command: ProgramCommand, most: Option<u64>| match most {
        Some(most) => command.with("max-cases", most.to_string()),
        None => command,
    };
    if let Some(single) = &run.single_turn {
        let layers = single.maximum_iteration_layers;
        let mut command = ProgramCommand::new("safety single-turn")
            .with("test-case-groups", groups)
            .with("threshold", single.threshold.get().to_string())
            .with("maximum-iteration-layers", layers.to_string());
        if layers > 0 {
            command = command
                .with("variations", single.variations.to_string())
                .with("strategies", single.strategies.join(","))
                .with("go-on", single.go_on.name());
        }
        return Some(with_most(command, single.max_cases));
    }
    let multi = run.multi_turn.as_ref()?;
    let command = ProgramCommand::new("safety multi-turn")
        .with("test-case-groups", groups)
        .with("threshold", multi.threshold.get().to_string())
        .with("max-turns", multi.max_turns.messages().to_string())
        .with("test-types", multi.test_types.join(","));
    let command = match multi.early_stop {
        true => command.flag("early-stop"),
        false => command,
    };
    Some(with_most(command, multi.max_cases))
}
