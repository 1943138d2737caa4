//! The rules of annotators.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    found::{Draft, Found},
    records::AnnotatorCounts,
    rules_items::RuleContext,
};

/// An annotator fails from this fraction of invalid annotations.
const INVALID_THRESHOLD: f64 = 0.03;

/// The annotators of each test. ModelBench calls the same ones in all tests; Probity may call different ones
/// in each.
pub(crate) fn annotators(context: &RuleContext<'_>) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut of_tests: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for (test, sut, annotator) in context.state.annotations.keys() {
        if context.subject.tests.contains(test) && context.subject.suts.contains(sut) {
            of_tests.entry(*test).or_default().insert(*annotator);
            all.insert(*annotator);
        }
    }
    if !context.state.ours {
        of_tests = context
            .subject
            .tests
            .iter()
            .map(|test| (*test, all.clone()))
            .collect();
    }
    of_tests
}

/// `EachResponseAnnotatedOnce`
pub(crate) fn annotated(
    context: &RuleContext<'_>,
    annotators: &BTreeMap<u32, BTreeSet<u32>>,
) -> Draft {
    let mut draft = Draft::new(
        "EachResponseAnnotatedOnce",
        "each item with a response has one response of each annotator",
    );
    for item in context.items() {
        for annotator in annotators.get(&item.key.test).into_iter().flatten() {
            let responses = item.marks(*annotator).responses;
            if responses == 0 && !item.is_translated() {
                continue;
            }
            draft.looked();
            let what = match responses {
                0 if context.is_excused(&item) => continue,
                // No annotator is called for blank replies.
                0 if context.state.ours && item.is_blank() => continue,
                0 => "no response of the annotator",
                _ if !item.is_translated() => {
                    "the annotator was called for an item without a response"
                }
                1 => continue,
                _ if !context.is_one_for_each_item() => continue,
                _ => "more than one response of the annotator",
            };
            draft.fail(Found::item(what, &item).annotator(*annotator));
        }
    }
    draft
}

/// `EachAnnotationTranslatedOnce`
pub(crate) fn annotation_translated(
    context: &RuleContext<'_>,
    annotators: &BTreeMap<u32, BTreeSet<u32>>,
) -> Draft {
    let mut draft = Draft::new(
        "EachAnnotationTranslatedOnce",
        "each response of an annotator is translated once, or the judge abstained",
    );
    for item in context.items() {
        for annotator in annotators.get(&item.key.test).into_iter().flatten() {
            let marks = item.marks(*annotator);
            if marks.responses == 0 && marks.translations == 0 {
                continue;
            }
            draft.looked();
            let what = match marks.translations {
                0 if context.is_excused(&item) => continue,
                0 => "the annotation is not translated",
                _ if marks.responses == 0 => "a translation without a response of the annotator",
                1 => continue,
                _ => "the annotation is translated more than once",
            };
            draft.fail(Found::item(what, &item).annotator(*annotator));
        }
    }
    draft
}

/// `MinValidAnnotatorItems`
pub(crate) fn valid(context: &RuleContext<'_>) -> Draft {
    let mut draft = Draft::new(
        "MinValidAnnotatorItems",
        "fewer than 3% of an annotator's annotations are invalid, for each test and SUT",
    );
    let mut counted: Vec<(&(u32, u32, u32), &AnnotatorCounts)> =
        context.state.annotations.iter().collect();
    counted.sort_unstable_by_key(|(key, _)| **key);
    for (&(test, sut, annotator), counts) in counted {
        let known = context.subject.tests.contains(&test) && context.subject.suts.contains(&sut);
        if !known || counts.translated == 0 {
            continue;
        }
        // The other judges of a panel decide without a judge that gave no score.
        if context.state.panels.contains(&(test, sut)) {
            continue;
        }
        draft.looked();
        if fraction(counts.invalid, counts.translated) >= INVALID_THRESHOLD {
            let what = format!(
                "{} of {} annotations are invalid",
                counts.invalid, counts.translated
            );
            draft.fail(Found::pair(what, test, sut).annotator(annotator));
        }
    }
    draft
}

/// `part / all`, computed like ModelBench does.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn fraction(part: u64, all: u64) -> f64 {
    part as f64 / all as f64
}
