//! Scores of earlier runs, graded again by this run.

use schema::{Estimate, Grade, event::KeptResults};

use crate::ScoreRow;

/// The scores of the hazards and of the benchmark. Empty if the run gave no grade.
pub(crate) fn rows(kept: &KeptResults, run_id: &str, benchmark: &str) -> Vec<ScoreRow> {
    let Some(graded) = &kept.graded else {
        return Vec::new();
    };
    let standards = &kept.standards;
    let row = |kind| ScoreRow {
        kind,
        run_id: run_id.to_owned(),
        benchmark: benchmark.to_owned(),
        sut: graded.sut.to_string(),
        ..ScoreRow::default()
    };
    let mut rows: Vec<ScoreRow> = graded
        .hazards
        .iter()
        .map(|hazard| ScoreRow {
            hazard: hazard.hazard.clone(),
            hazard_key: hazard.hazard.clone(),
            score: estimate(hazard.score),
            samples: samples(hazard.score),
            reference: number(hazard.reference),
            numeric_grade: numeric(hazard.grade),
            text_grade: text(hazard.grade),
            ..row("hazard")
        })
        .collect();
    rows.push(ScoreRow {
        score: estimate(graded.score),
        samples: samples(graded.score),
        reference: number(graded.reference),
        numeric_grade: numeric(graded.grade),
        text_grade: text(graded.grade),
        details:
            serde_json::json!({"from": "the scores in the benchmark tree", "standards": standards})
                .to_string(),
        ..row("benchmark")
    });
    rows
}

fn estimate(score: Option<Estimate>) -> String {
    number(score.map(|score| score.estimate))
}

fn samples(score: Option<Estimate>) -> String {
    score.map_or_else(String::new, |score| score.samples.to_string())
}

/// Written like a float: 1.0, not 1.
fn number(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| format!("{number:?}"))
}

fn numeric(grade: Option<Grade>) -> String {
    grade.map_or_else(String::new, |grade| grade.numeric().to_string())
}

fn text(grade: Option<Grade>) -> String {
    grade.map_or_else(String::new, |grade| grade.text().to_owned())
}

#[cfg(test)]
mod tests {
    use schema::{EventBody, EventKind};

    use super::*;

    fn kept(line: &str) -> KeptResults {
        match EventBody::read(EventKind::KeptResults.message(), line.as_bytes()) {
            Some(Ok(EventBody::KeptResults(kept))) => kept,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn kept_results_are_scores_where_they_were_graded() {
        let line = |graded: &str| {
            format!(
                r#"{{"message":"kept results","sut":"s","summary":{{"target_model":"s","n_positive":0,"n_negative":0,"n_total":0,"by_metric":{{}},"by_scenario":{{}}}},"standards":"standards.json"{graded}}}"#
            )
        };
        let none = line("");
        assert_eq!(rows(&kept(&none), "r", "b"), []);
        let graded = line(
            r#","graded":{"sut":"s","score":{"lower":0.1,"estimate":0.5,"upper":0.9,"samples":4},"passed":2,"unscored":1,
            "reference":null,"numeric_grade":null,"hazards":[{"hazard":"h","name":"H","score":{"lower":0.5,"estimate":1.0,"upper":1.0,
            "samples":3},"passed":3,"unscored":0,"reference":0.25,"numeric_grade":5,"tests":[]},{"hazard":"i","name":"I","score":null,
            "passed":0,"unscored":1,"reference":0.5,"numeric_grade":null,"tests":[]}]}"#,
        )
        .replace('\n', "");
        let rows = rows(&kept(&graded), "r", "b");
        let columns: Vec<_> = rows
            .iter()
            .map(|row| {
                [
                    row.kind,
                    &row.hazard,
                    &row.score,
                    &row.reference,
                    &row.samples,
                    &row.numeric_grade,
                    &row.text_grade,
                ]
            })
            .collect();
        assert_eq!(
            columns,
            [
                ["hazard", "h", "1.0", "0.25", "3", "5", "E"],
                ["hazard", "i", "", "0.5", "", "", ""],
                ["benchmark", "", "0.5", "", "4", "", ""],
            ]
        );
        assert!(
            rows.iter()
                .all(|row| row.run_id == "r" && row.benchmark == "b" && row.sut == "s")
        );
        assert!(rows[2].details.contains("standards.json"));
    }
}
