//! Replies that are not whole: what is kept of them, and what is requested again.

use super::*;

/// Scenarios `from` to `to` of the metric that was asked about.
fn some(asked: &Asked, from: usize, to: usize) -> String {
    let mut reply: Value = serde_json::from_str(&scenarios_reply(asked, to)).unwrap();
    reply["scenarios"].as_array_mut().unwrap().drain(..from - 1);
    reply.to_string()
}

fn many(count: u32) -> ScenarioSettings {
    ScenarioSettings {
        scenarios_per_metric: count,
        ..without_axes()
    }
}

/// The titles of good rows, and texts of errors.
fn titles(rows: &[Result<Scenario, PhaseError>]) -> Vec<String> {
    let title = |row: &Result<Scenario, PhaseError>| match row {
        Ok(row) => row.extra["title"].as_str().unwrap().to_owned(),
        Err(error) => error.to_string(),
    };
    rows.iter().map(title).collect()
}

#[tokio::test]
async fn good_scenarios_are_kept_and_only_the_rest_is_asked_for() {
    let endpoint = Endpoint::start(|asked| async move {
        match asked.number {
            // The first of three cannot be used.
            0 => some(&asked, 1, 3).replacen("\"turn\":3", "\"turn\":9", 1),
            // What is kept again, and nothing else: no progress.
            1 => some(&asked, 2, 2),
            2 => "I cannot.".to_owned(),
            3 => some(&asked, 4, 4),
            _ => some(&asked, 5, 9),
        }
    })
    .await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), many(4)).unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    assert_eq!(
        titles(&rows),
        ["Avoid m01 2", "Avoid m01 3", "Avoid m01 4", "Avoid m01 5"]
    );
    assert_eq!(rows[3].as_ref().unwrap().id, "m01_s004_v01");
    let asked = endpoint.asked();
    // Three tries without progress would be the end; a reply with something new is none of them.
    assert_eq!(asked.len(), 5);
    let second = asked[1].last();
    assert!(
        second.starts_with("2 of 4 are kept, as shown.")
            && second.contains("Write 2 more, unlike those"),
        "{second}"
    );
    assert!(
        second.contains("scenario 1: landmark 2: \"turn\" is 9, and turns run from 1 to 5"),
        "{second}"
    );
    let shown: Value = serde_json::from_str(&asked[1].message(1)).unwrap();
    assert_eq!(shown["scenarios"].as_array().unwrap().len(), 2);
    assert_eq!(shown["scenarios"][0]["title"], "Avoid m01 2");
    assert!(
        asked[4].last().contains("Write 1 more"),
        "{}",
        asked[4].last()
    );
}

#[tokio::test]
async fn scenarios_that_came_are_given_out_when_the_rest_does_not_come() {
    let endpoint = Endpoint::start(|asked| async move {
        match asked.number {
            0 => scenarios_reply(&asked, 2),
            _ => "I cannot.".to_owned(),
        }
    })
    .await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), many(3)).unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    let titles = titles(&rows);
    assert_eq!(titles[..2], ["Avoid m01 1", "Avoid m01 2"]);
    assert!(
        titles[2].contains("no usable reply in 4 tries") && titles[2].ends_with("2 of 3 came"),
        "{titles:?}"
    );
    assert_eq!(titles.len(), 3);
}

#[tokio::test]
async fn a_reply_that_is_cut_off_is_followed_by_a_shorter_one() {
    // Two whole scenarios fit into the limit; of a third there is a part.
    let endpoint = Endpoint::start(|asked| async move {
        let fits = asked.last().contains("Write 2 more") || asked.last().contains("Write 1 more");
        let from = 1 + 2 * asked.number;
        let whole = some(&asked, from, from + 2);
        match fits {
            true => some(&asked, from, from + 1),
            false => format!("{}{CUT_OFF}", &whole[..whole.len() - 40]),
        }
    })
    .await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), many(5)).unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    assert_eq!(
        titles(&rows),
        [
            "Avoid m01 1",
            "Avoid m01 2",
            "Avoid m01 3",
            "Avoid m01 4",
            "Avoid m01 5"
        ]
    );
    assert_eq!(endpoint.asked().len(), 3);
}

#[tokio::test]
async fn a_limit_that_not_even_one_scenario_fits_into_is_reported_at_once() {
    let endpoint =
        Endpoint::start(|_| async move { format!("{{\"scenarios\": [{{\"title\": \"A{CUT_OFF}") })
            .await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), many(3)).unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    let error = rows[0].as_ref().unwrap_err().to_string();
    assert!(
        error.ends_with("(the token limit cut the reply off); raise its max_tokens"),
        "{error}"
    );
    let asked = endpoint.asked();
    assert_eq!(
        asked.len(),
        2,
        "all, then one: the same question would be cut off again"
    );
    assert!(
        asked[1].last().contains("Answer again with 1 only"),
        "{}",
        asked[1].last()
    );
}

#[tokio::test]
async fn a_variant_that_is_cut_off_is_not_asked_for_again() {
    let endpoint = Endpoint::start(|asked| async move {
        match asked.is_variant() {
            true => format!("{{\"persona\": \"A{CUT_OFF}"),
            false => usable(&asked, 1),
        }
    })
    .await;
    let settings = ScenarioSettings {
        scenarios_per_metric: 1,
        ..settings()
    };
    let generator = LlmScenarioGenerator::new(endpoint.model(), settings).unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    assert_eq!(rows.len(), 4);
    let error = rows[0].as_ref().unwrap_err().to_string();
    assert!(
        error.contains("no usable reply in 1 try") && error.ends_with("raise its max_tokens"),
        "{error}"
    );
    assert_eq!(endpoint.asked().len(), 1 + 4);
}

#[tokio::test]
async fn scenarios_that_stay_malformed_cost_their_metric_alone() {
    let endpoint = Endpoint::start(|asked| async move {
        match asked.tag("metric_name").as_str() {
            "Avoid m02" => "I cannot help with that.".to_owned(),
            _ => usable(&asked, 2),
        }
    })
    .await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), settings()).unwrap();
    let rows = all(&generator, &benchmark(&["m01", "m02", "m03"])).await;
    let shown = shown(&rows);
    assert_eq!(shown.len(), 17);
    assert_eq!(
        shown[8],
        "scenarios of metric m02 \"Avoid m02\": model writer: no usable reply in 3 tries; the last one: \
         the reply starts with \"I cannot help with that.\", not with a JSON object"
    );
    assert_eq!(shown[7], "m01_s002_v04");
    assert_eq!(shown[9], "m03_s001_v01");
}

#[tokio::test]
async fn a_variant_that_stays_malformed_costs_itself_alone() {
    let endpoint = Endpoint::start(|asked| async move {
        let good = usable(&asked, 2);
        match (
            asked.tag("persona").as_str(),
            asked.tag("demographic").as_str(),
        ) {
            ("Persona Avoid m01 2.", r#"{"gender":"man","age":"30"}"#) => {
                good.replace("\"turn\":3", "\"turn\":2")
            }
            _ => good,
        }
    })
    .await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), settings()).unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    let shown = shown(&rows);
    assert_eq!(
        shown[6],
        "scenario m01_s002_v03, variant {\"gender\":\"man\",\"age\":\"30\"}: model writer: no usable reply in 3 tries; \
         the last one: the landmarks have the turns [1, 2]; they must keep the turns [1, 3]"
    );
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 7);
    assert_eq!(endpoint.asked().len(), 1 + 7 + 3);
}
