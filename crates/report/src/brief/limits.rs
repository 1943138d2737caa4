//! What limits the conclusions, in the order of its weight.

use interop::sheet::together;
use schema::{Finding, FindingSeverity, ModelId, statistics::Statistics};

use super::{Brief, Entry};
use crate::{
    overview::{is_limit, limits},
    text::clean,
};

/// The most names of models in a text.
const NAMED: usize = 4;

/// What forbids the conclusion, then notes. `is_short`: long lists of models are folded to a number.
pub(super) fn entries(brief: &Brief<'_>, is_short: bool) -> Vec<Entry> {
    let findings = named(brief.findings, is_short);
    let line = |finding: &Finding| clean(&(brief.line)(finding));
    // Warnings stand below the results, with their advice: here is what they come to.
    let in_words = |finding: &Finding| match finding.severity {
        FindingSeverity::Warning => String::new(),
        FindingSeverity::Note => line(finding),
    };
    let gravest = limits(
        brief.statistics,
        &findings,
        brief.unfinished,
        brief.program,
        &in_words,
    );
    let others = findings
        .iter()
        .filter(|finding| finding.severity == FindingSeverity::Note && !is_limit(finding));
    gravest
        .into_iter()
        .map(|limit| Entry {
            kind: None,
            text: match (limit.text.trim(), limit.title.trim_end_matches('.')) {
                ("", title) => format!("{title}: see the warnings."),
                (text, title) if text.starts_with(char::is_lowercase) => format!("{title}: {text}"),
                (text, _) => format!("{} {text}", limit.title),
            },
            fact: limit.title,
        })
        .chain(others.map(|finding| entry(finding, &line)))
        .chain(rate_notes(brief.statistics, is_short))
        .collect()
}

/// The notes on rates over all rows, each once, with its models.
fn rate_notes(statistics: &Statistics, is_short: bool) -> Vec<Entry> {
    let noted = statistics.targets.iter().filter_map(|target| {
        let note = target.rates.all.note.as_deref()?;
        Some((note, clean(target.target.as_str())))
    });
    let notes = together(noted).into_iter().map(|(note, names)| {
        let names = match names.len().saturating_sub(NAMED) {
            more if more > 0 && is_short => {
                let first = names.get(..2).unwrap_or_default().join(", ");
                format!("{first} and {} more models", names.len() - 2)
            }
            _ => names.join(", "),
        };
        let text = format!("{names}: {note}.");
        Entry {
            kind: None,
            fact: text.clone(),
            text,
        }
    });
    notes.collect()
}

/// The findings, in their order. `is_short`: long lists of models are folded to a number.
pub(crate) fn finding_entries(
    findings: &[Finding],
    line: &dyn Fn(&Finding) -> String,
    is_short: bool,
) -> Vec<Entry> {
    let findings = named(findings, is_short);
    let mut entries: Vec<Entry> = Vec::new();
    for finding in &findings {
        let entry = entry(finding, line);
        // Two trees can have the same finding.
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

fn entry(finding: &Finding, line: &dyn Fn(&Finding) -> String) -> Entry {
    Entry {
        kind: Some(finding.kind),
        text: clean(&line(finding)),
        fact: clean(&format!("{}.", finding.text)),
    }
}

fn named(findings: &[Finding], is_short: bool) -> Vec<Finding> {
    let findings = findings.iter();
    findings
        .map(|finding| match is_short {
            true => with_few_names(finding),
            false => finding.clone(),
        })
        .collect()
}

/// The finding with the first names of a long list of its models, and the number of the others.
fn with_few_names(finding: &Finding) -> Finding {
    let names: Vec<&str> = finding.targets.iter().map(ModelId::as_str).collect();
    let Some((last, rest)) = names.split_last().filter(|_| names.len() > NAMED) else {
        return finding.clone();
    };
    let first = names.get(..2).unwrap_or_default().join(", ");
    let few = format!("{first} and {} more models", names.len() - 2);
    let lists = [format!("{} and {last}", rest.join(", ")), names.join(", ")];
    let list = lists
        .iter()
        .find(|list| finding.text.contains(list.as_str()));
    Finding {
        text: match list {
            Some(list) => finding.text.replacen(list.as_str(), &few, 1),
            None => finding.text.clone(),
        },
        ..finding.clone()
    }
}
