//! Scratch.
#![allow(clippy::unwrap_used, missing_docs)]
use interop::{inspect::*, *};
use schema::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let dir = std::path::PathBuf::from(args.next().unwrap());
    let out = args.next().unwrap();
    let format = if args.next().as_deref() == Some("json") {
        LogFormat::Json
    } else {
        LogFormat::Eval
    };
    let odd = args.next().is_some();
    let text = std::fs::read_to_string(dir.join("benchmark.json")).unwrap();
    let benchmark: Benchmark = serde_json::from_str(&text).unwrap();
    let mut logs = Box::new(InspectLogs::new(out, format));
    for t in ["scripted-agreeable", "scripted-careful"] {
        let convs: Vec<Conversation> = serde_json::from_slice(
            &std::fs::read(dir.join("runs").join(t).join("conversations.json")).unwrap(),
        )
        .unwrap();
        let scores: Vec<Score> = serde_json::from_slice(
            &std::fs::read(dir.join("runs").join(t).join("scores.json")).unwrap(),
        )
        .unwrap();
        let mut run = Run::new(
            benchmark.clone(),
            "sycophancy",
            convs[0].target.clone(),
            "2026-01-02T03:04:05Z".parse().unwrap(),
        );
        run.judges.push(Judge {
            id: "scripted-judge".into(),
            model: "scripted-judge".into(),
            ..Judge::default()
        });
        run.user_model = Some(TargetRef {
            id: ModelId::new("scripted-user").unwrap(),
            model: "scripted-user".into(),
        });
        run.turns = Some(4);
        run.settings.insert("temperature".into(), 0.7.into());
        run.outcome = Some("complete".into());
        logs.begin(&run).unwrap();
        for c in convs {
            let s: Vec<Score> = scores
                .iter()
                .filter(|s| s.conv_id == c.conv_id)
                .cloned()
                .collect();
            let mut x = Sample::new(c, s);
            x.system_prompt = Some("You are a general assistant.".into());
            x.started = Some("2026-01-02T03:04:05.25Z".parse().unwrap());
            x.ended = Some("2026-01-02T03:04:09Z".parse().unwrap());
            let call = |by, model: &str, turn, n| Call {
                by,
                model: model.into(),
                turn,
                cached: false,
                run_time: Some(0.5),
                request_id: Some("r".into()),
                answered_by: None,
                finish_reason: None,
                reasoning: (odd && by == Asked::Target).then(|| "thinking".to_owned()),
                usage: Some(Usage {
                    input_tokens: n,
                    cached_input_tokens: 3,
                    output_tokens: 4,
                    reasoning_tokens: 2,
                }),
                cost: Some(0.0125),
                error: None,
            };
            for turn in 1..=4 {
                x.calls.push(call(Asked::User, "scripted-user", turn, 20));
                x.calls.push(call(Asked::Target, t, turn, 30));
            }
            x.calls.push(call(Asked::Judge, "scripted-judge", 0, 70));
            logs.push(&x).unwrap();
            if odd {
                let mut y = x.clone();
                y.conversation.sample = 1;
                for s in &mut y.scores {
                    s.sample = 1;
                    s.score = None;
                    s.passed = None;
                    s.present = None;
                    s.justification = "no usable verdict".into();
                }
                logs.push(&y).unwrap();
                let mut y = x.clone();
                y.conversation.sample = 2;
                y.conversation.error = Some("the target is down: 503".into());
                y.conversation.transcript.pop();
                for s in &mut y.scores {
                    s.sample = 2;
                    s.score = None;
                    s.passed = None;
                    s.present = None;
                    s.error = Some("the target is down".into());
                    s.justification = "the target is down".into();
                }
                logs.push(&y).unwrap();
                let mut y = x.clone();
                y.conversation.scenario.id = format!(
                    "odd/..\\\u{1}{}\u{2028} é %41 #?&",
                    y.conversation.scenario.id
                );
                y.conversation.transcript[1].content =
                    "x\u{2028}\u{0} \u{1F600} ".repeat(100_000).into();
                y.scores.clear();
                logs.push(&y).unwrap();
            }
        }
        logs.end().unwrap();
    }
    println!("{:?}", logs.finish().unwrap());
}
