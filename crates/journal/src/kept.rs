//! Scores of earlier runs that a run of Probity graded again.

use schema::{BenchmarkScore, Estimate, Grade};

use crate::{Line, ScoreRow};

/// The scores that a `kept results` tells: those of the hazards, and that of the benchmark. A journal without grades has none.
pub(crate) fn rows(line: &Line<'_>, run_id: &str, benchmark: &str) -> Vec<ScoreRow> {
    let Some(graded) = line.get::<BenchmarkScore>("graded") else {
        return Vec::new();
    };
    let standards = line.get::<Option<String>>("standards").flatten();
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

/// 1.0 stays a fraction.
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
    use super::*;

    #[test]
    fn kept_results_are_scores_where_they_were_graded() {
        let line = |graded: &str| {
            format!(
                r#"{{"message":"kept results","sut":"s","summary":{{}},"standards":"standards.json"{graded}}}"#
            )
        };
        let none = line("");
        assert_eq!(rows(&Line::parse(none.as_bytes()).unwrap(), "r", "b"), []);
        let graded = line(
            r#","graded":{"sut":"s","score":{"lower":0.1,"estimate":0.5,"upper":0.9,"samples":4},"passed":2,"unscored":1,
            "reference":null,"numeric_grade":null,"hazards":[{"hazard":"h","name":"H","score":{"lower":0.5,"estimate":1.0,"upper":1.0,
            "samples":3},"passed":3,"unscored":0,"reference":0.25,"numeric_grade":5,"tests":[]},{"hazard":"i","name":"I","score":null,
            "passed":0,"unscored":1,"reference":0.5,"numeric_grade":null,"tests":[]}]}"#,
        )
        .replace('\n', "");
        let rows = rows(&Line::parse(graded.as_bytes()).unwrap(), "r", "b");
        let told: Vec<_> = rows
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
            told,
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
