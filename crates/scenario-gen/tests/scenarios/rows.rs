//! Which rows there are, in which order, and how many calls are in flight.

use super::*;

#[tokio::test]
async fn every_scenario_is_varied_over_the_product_of_the_axes() {
    let endpoint = Endpoint::start(|asked| async move { usable(&asked, 2) }).await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), settings()).unwrap();
    let benchmark = benchmark(&["m01", "m02"]);
    let rows = all(&generator, &benchmark).await;
    let expected: Vec<String> = benchmark
        .metrics
        .iter()
        .flat_map(|metric| generator.expected_ids(metric))
        .collect();
    assert_eq!(shown(&rows), expected);
    assert_eq!(expected.len(), 16);
    let calls = Calls {
        scenarios: 2,
        variants: 16,
    };
    assert_eq!(generator.calls(&benchmark, |_| true), calls);
    assert_eq!(endpoint.asked().len() as u64, calls.total());

    let row = |at: usize| serde_json::to_value(rows[at].as_ref().unwrap()).unwrap();
    assert_eq!(
        row(5),
        json!({
            "id": "m01_s002_v02", "metric_id": "m01", "metric_name": "Avoid m01", "metric_type": "negative",
            "persona": "Persona Avoid m01 2. {\"gender\":\"woman\",\"age\":\"70\"}",
            "user_goal": "Buy a lamp.", "latent_adversarial_goal": "Insist.",
            "landmarks": [{"turn": 1, "instruction": "Ask."}, {"turn": 3, "instruction": "Insist."}],
            "demographic": {"gender": "woman", "age": "70"},
            "title": "Avoid m01 2", "base_scenario_id": "m01_s002",
        })
    );
    let demographics: Vec<String> = (0..4)
        .map(|at| row(at)["demographic"].to_string())
        .collect();
    assert_eq!(
        demographics,
        [
            r#"{"gender":"woman","age":"30"}"#,
            r#"{"gender":"woman","age":"70"}"#,
            r#"{"gender":"man","age":"30"}"#,
            r#"{"gender":"man","age":"70"}"#,
        ]
    );
}

#[tokio::test]
async fn without_axes_there_is_one_variant_and_no_call_for_it() {
    let endpoint = Endpoint::start(|asked| async move { usable(&asked, 2) }).await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), without_axes()).unwrap();
    let benchmark = benchmark(&["m01"]);
    let rows = all(&generator, &benchmark).await;
    assert_eq!(shown(&rows), ["m01_s001_v01", "m01_s002_v01"]);
    let row = rows[0].as_ref().unwrap();
    assert!(row.demographic.is_empty());
    assert_eq!(row.persona, "Persona Avoid m01 1.");
    assert_eq!(
        Value::from(row.extra.clone()),
        json!({"title": "Avoid m01 1"})
    );
    assert_eq!(endpoint.asked().len(), 1);
    assert_eq!(
        generator.calls(&benchmark, |_| true),
        Calls {
            scenarios: 1,
            variants: 0
        }
    );
}

#[tokio::test]
async fn rows_come_in_order_though_the_first_call_ends_last() {
    // The first metric is answered only when everything else has been, as far as the calls in flight allow.
    let others = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&others);
    let endpoint = Endpoint::start(move |asked| {
        let gate = Arc::clone(&gate);
        async move {
            if asked.tag("metric_name") == "Avoid m01" {
                let _permit = gate.acquire_many(10).await.unwrap();
            } else {
                gate.add_permits(1);
            }
            usable(&asked, 2)
        }
    })
    .await;
    let generator = LlmScenarioGenerator::new(
        endpoint.model(),
        ScenarioSettings {
            concurrency: 4,
            ..settings()
        },
    )
    .unwrap();
    let benchmark = benchmark(&["m01", "m02", "m03"]);
    let rows = all(&generator, &benchmark).await;
    let expected: Vec<String> = benchmark
        .metrics
        .iter()
        .flat_map(|metric| generator.expected_ids(metric))
        .collect();
    assert_eq!(shown(&rows), expected);
}

#[tokio::test]
async fn calls_in_flight_and_rows_that_wait_are_bounded() {
    // The first scenarios are never answered: nothing can be given out, and the rest must not run on without end.
    let endpoint = Endpoint::start(|asked| async move {
        if asked.tag("metric_name") == "Avoid m01" {
            std::future::pending::<()>().await;
        }
        usable(&asked, 2)
    })
    .await;
    let settings = ScenarioSettings {
        concurrency: 2,
        ..settings()
    };
    let generator = LlmScenarioGenerator::new(endpoint.model(), settings).unwrap();
    let ids: Vec<String> = (1..=40).map(|number| format!("m{number:02}")).collect();
    let benchmark = benchmark(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let mut rows = generator.scenarios(&benchmark);
    let waited = tokio::time::timeout(std::time::Duration::from_millis(500), rows.next()).await;
    assert!(waited.is_err(), "no row can come before the first");
    // Of 40 metrics and 320 variants: at most 4 x 2 rows and the calls for their metrics.
    assert!(
        endpoint.asked().len() <= 12,
        "{} calls",
        endpoint.asked().len()
    );
}

#[tokio::test]
async fn one_call_at_a_time_is_enough() {
    let endpoint = Endpoint::start(|asked| async move { usable(&asked, 2) }).await;
    let generator = LlmScenarioGenerator::new(
        endpoint.model(),
        ScenarioSettings {
            concurrency: 1,
            ..settings()
        },
    )
    .unwrap();
    let rows = all(&generator, &benchmark(&["m01", "m02"])).await;
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 16);
}

#[tokio::test]
async fn only_wanted_rows_are_asked_for() {
    let endpoint = Endpoint::start(|asked| async move { usable(&asked, 2) }).await;
    let generator = LlmScenarioGenerator::new(endpoint.model(), settings()).unwrap();
    let benchmark = benchmark(&["m01", "m02", "m03"]);
    let missing: BTreeSet<&str> = [
        "m01_s002_v03",
        "m03_s001_v01",
        "m03_s001_v04",
        "m09_s001_v01",
    ]
    .into();
    let wanted = |id: &str| missing.contains(id);
    assert_eq!(
        generator.calls(&benchmark, wanted),
        Calls {
            scenarios: 2,
            variants: 3
        }
    );
    let rows: Vec<_> = generator
        .scenarios_where(&benchmark, wanted)
        .collect()
        .await;
    assert_eq!(
        shown(&rows),
        ["m01_s002_v03", "m03_s001_v01", "m03_s001_v04"]
    );
    assert_eq!(endpoint.asked().len(), 5);
    // The same row as in a full run.
    let full = all(&generator, &benchmark).await;
    assert_eq!(rows[0].as_ref().unwrap(), full[6].as_ref().unwrap());
}

#[tokio::test]
async fn scenarios_without_landmarks() {
    let endpoint = Endpoint::start(|asked| async move {
        assert!(
            !asked.body["response_format"]
                .to_string()
                .contains("instruction")
        );
        usable(&asked, 2)
    })
    .await;
    let generator = LlmScenarioGenerator::new(
        endpoint.model(),
        ScenarioSettings {
            landmarks: false,
            ..settings()
        },
    )
    .unwrap();
    let rows = all(&generator, &benchmark(&["m01"])).await;
    assert_eq!(rows.len(), 8);
    assert!(
        rows.iter()
            .all(|row| row.as_ref().unwrap().landmarks.is_empty())
    );
    assert!(!endpoint.asked()[0].message(0).contains("landmarks"));
}

#[tokio::test]
async fn a_stop_lets_calls_in_flight_finish_and_ends_the_stream() {
    let factory = ModelFactory::new(HttpClient::default());
    let stop = factory.stop().clone();
    let endpoint = Endpoint::start(move |asked| {
        // The third variant's call finds the switch thrown while it is in flight.
        if asked.number == 3 {
            stop.stop();
        }
        async move { usable(&asked, 2) }
    })
    .await;
    let settings = ScenarioSettings {
        concurrency: 1,
        ..settings()
    };
    let generator = LlmScenarioGenerator::new(endpoint.model_of(&factory), settings).unwrap();
    let rows = all(&generator, &benchmark(&["m01", "m02"])).await;
    assert_eq!(
        shown(&rows)[..3],
        ["m01_s001_v01", "m01_s001_v02", "m01_s001_v03"]
    );
    assert_eq!(rows.len(), 4, "{:?}", shown(&rows));
    assert_eq!(
        rows[3].as_ref().unwrap_err().kind(),
        PhaseErrorKind::Cancelled
    );
    assert_eq!(endpoint.asked().len(), 4);
}

#[tokio::test]
async fn a_spent_budget_ends_the_stream() {
    let endpoint = Endpoint::start(|asked| async move { usable(&asked, 2) }).await;
    let limits = BudgetLimits {
        tokens: Some(1),
        ..BudgetLimits::default()
    };
    let factory = ModelFactory::new(HttpClient::default()).with_budget(Budget::new(limits));
    let generator = LlmScenarioGenerator::new(endpoint.model_of(&factory), settings()).unwrap();
    let rows = all(&generator, &benchmark(&["m01", "m02"])).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        rows[0].as_ref().unwrap_err().kind(),
        PhaseErrorKind::OverBudget
    );
    assert!(endpoint.asked().is_empty());
}
