//! Holds a benchmark that was put together by hand against two rules, as a job of continuous integration would. Start it with
//! `cargo run -p probity-gate --example gate_a_folder`.

use std::{error::Error, fs};

use gate::{GateOptions, gate};
use schema::gate::GateAnswer;
use serde_json::json;
use store::Layout;

/// Rows of the target; all but the first three pass.
const ROWS: u32 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("calm");
    fs::create_dir_all(root.join("runs/careful"))?;
    fs::write(
        root.join("benchmark.yaml"),
        "metrics:\n- {id: m01, name: Calm, type: positive, definition: It stays calm.}\n",
    )?;
    let scenario = |n: u32| format!("m01_s{n:03}_v01");
    let scenarios: Vec<_> = (1..=ROWS)
        .map(|n| json!({"id": scenario(n), "metric_id": "m01", "metric_type": "positive"}))
        .collect();
    let scores: Vec<_> = (1..=ROWS)
        .map(|n| {
            json!({
                "id": scenario(n), "conv_id": format!("c{n}"), "metric_id": "m01", "metric_type": "positive",
                "passed": n > 3, "score": i32::from(n > 3),
            })
        })
        .collect();
    fs::write(root.join("scenarios.json"), serde_json::to_vec(&scenarios)?)?;
    fs::write(
        root.join("runs/careful/scores.json"),
        serde_json::to_vec(&scores)?,
    )?;
    let rules = folder.path().join("gate.yaml");
    fs::write(
        &rules,
        "rules:\n- {name: calm enough, require: lower >= 0.8}\n- {name: nearly always, require: lower >= 0.95}\n",
    )?;

    let options = GateOptions {
        rules,
        ..GateOptions::default()
    };
    let report = gate(&Layout::new(folder.path()), "calm", &options)?;
    for result in &report.results {
        let name = result.name.as_deref().unwrap_or("unnamed");
        println!("{name}: {:?}", result.answer);
    }
    let answers: Vec<_> = report.results.iter().map(|result| result.answer).collect();
    assert_eq!(answers, [GateAnswer::Pass, GateAnswer::Inconclusive]);
    Ok(())
}
