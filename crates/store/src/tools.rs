//! The tools of `benchmark.yaml`, and the scenarios that restrict them.

use std::collections::HashSet;

use schema::{Benchmark, Scenario, nearest};

use super::broken_rule::BrokenRule;

/// The rules that tools break: each tool must be usable and answerable, and no name may be
/// duplicated.
pub(super) fn check_tools(benchmark: &Benchmark) -> Vec<BrokenRule> {
    let mut broken = Vec::new();
    let mut names = HashSet::new();
    for (index, tool) in benchmark.tools.iter().enumerate() {
        let entry = format!("tools[{index}]");
        if !names.insert(tool.name.as_str()) {
            let reason = format!(
                "duplicate name {:?}. Each tool needs its own name",
                tool.name
            );
            broken.push(BrokenRule::new(&entry, reason).at("name"));
        }
        if let Err(error) = tool_schema::check_tool(tool) {
            broken.push(BrokenRule {
                entry,
                name: Some(tool.name.clone()),
                key: error.key,
                reason: error.reason,
            });
        }
    }
    broken
}

/// The rules that the `tools` of a scenario break: the benchmark must have each of them.
pub(super) fn unknown_tools(row: &Scenario, benchmark: &Benchmark) -> Vec<BrokenRule> {
    let names = row.tools.iter().flatten().enumerate();
    let unknown = names.filter(|(_, name)| benchmark.tools.iter().all(|tool| tool.name != **name));
    let broken = unknown.map(|(index, name)| {
        let reason = format!(
            "benchmark.yaml has no tool {name:?}{}",
            meant(name, benchmark)
        );
        BrokenRule::new(format!("tools[{index}]"), reason)
    });
    broken.collect()
}

fn meant(name: &str, benchmark: &Benchmark) -> String {
    let names = || benchmark.tools.iter().map(|tool| tool.name.as_str());
    match nearest(name, names()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if benchmark.tools.is_empty() => {
            "; it has no `tools`. Declare the tool there, or take `tools` out of the row".to_owned()
        }
        None => format!(". Its tools are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmark(tools: &str) -> Benchmark {
        serde_json::from_str(&format!(r#"{{"name": "b", "tools": {tools}}}"#)).unwrap()
    }

    #[test]
    fn a_tool_that_cannot_be_offered_is_named_with_its_place() {
        for (tools, reason) in [
            (
                r#"[{"name": "a", "answer": 1}, {"name": "a", "answer": 2}]"#,
                "tools[1]: duplicate name \"a\"",
            ),
            (
                r#"[{"name": "a"}]"#,
                "tools[0] (a): it has no answer: give `answer`, `answers` or `simulated: true`",
            ),
            (
                r#"[{"name": "a b", "answer": 1}]"#,
                "tools[0] (a b): `name` \"a b\" is not 1 to 64 letters",
            ),
            (
                r#"[{"name": "a", "answer": 1, "parameters": {"type": "string"}}]"#,
                "tools[0] (a): `parameters.type` is \"string\"",
            ),
            (
                r#"[{"name": "a", "answer": 1, "parameters": {"type": "object", "properties": 5}}]"#,
                "tools[0] (a): `parameters.properties` is no JSON schema",
            ),
        ] {
            let error = check_tools(&benchmark(tools))[0].to_string();
            assert!(error.starts_with(reason), "{error}");
        }
        assert_eq!(
            check_tools(&benchmark(r#"[{"name": "a", "simulated": true}]"#)),
            []
        );
    }

    #[test]
    fn an_unknown_tool_of_a_scenario_is_named_with_the_nearest() {
        let benchmark = benchmark(r#"[{"name": "send_money", "answer": 1}]"#);
        let error = |name: &str, benchmark: &Benchmark| {
            let row = Scenario {
                tools: Some(vec!["send_money".into(), name.into()]),
                ..Scenario::default()
            };
            let broken = unknown_tools(&row, benchmark);
            broken.last().map(ToString::to_string)
        };
        assert_eq!(
            error("send_mony", &benchmark).as_deref(),
            Some(
                "tools[1]: benchmark.yaml has no tool \"send_mony\"; did you mean \"send_money\"?"
            )
        );
        let ends = |text: Option<String>, end: &str| text.is_some_and(|text| text.ends_with(end));
        assert!(ends(error("fly", &benchmark), "Its tools are send_money"));
        assert!(ends(
            error("fly", &Benchmark::default()),
            "take `tools` out of the row"
        ));
        assert_eq!(error("send_money", &benchmark), None);
    }
}
