//! A disk that fills, few open files, and a clock that jumps.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;
use tokio::{process::Command, time::sleep};

use super::{
    project::{Project, RUN, Size, TREE, ended},
    promises::{self, End},
    random::Random,
    table::Table,
    trial::Trial,
    undisturbed::Undisturbed,
};

/// The blocks of 512 bytes of the largest file of a run, about. A limit above it does nothing.
const BLOCKS: usize = 400;

/// From so few open files on which nothing can be done, to many.
const FILES: (usize, usize) = (12, 80);

/// What limits a run.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// No file grows beyond so many blocks: a full disk, whatever user runs this.
    Blocks(usize),
    /// So many files are open at once, at most.
    Files(usize),
    /// The clock is set by so many seconds, again and again.
    Clock(i64),
}

/// Runs cases until the time is over. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial) -> Result<usize, Box<dyn Error>> {
    let columns = ["limit", "exit", "scored", "lost", "again", "s"];
    let mut table = Table::new("full disk, few files, clock", &columns);
    let mut random = Random::new(trial.seed);
    let server = ScriptedServer::start().await?;
    let alone = trial.project(&server.base_url(), Size::SMALL, "")?;
    alone.succeeds(&RUN).await?;
    let undisturbed = Undisturbed::of(&alone, TREE, &server.stats())?;
    let clock = has_clock().await;
    let began = Instant::now();
    for number in 0.. {
        if began.elapsed() >= trial.time {
            break;
        }
        let limit = match number % 5 {
            0 | 1 => Limit::Blocks(1 + random.below(BLOCKS)),
            2 | 3 => Limit::Files(FILES.0 + random.below(FILES.1 - FILES.0)),
            _ if !clock => continue,
            _ => Limit::Clock(i64::try_from(random.below(20_000))? - 10_000),
        };
        let began = Instant::now();
        let mut broken = Vec::new();
        let server = ScriptedServer::builder()
            .latency(Duration::from_millis(4))
            .start()
            .await?;
        let project = trial.project(&server.base_url(), Size::SMALL, "")?;
        let code = limited(&project, limit, &mut broken).await?;
        let lost = server
            .stats()
            .answered
            .saturating_sub(promises::stored(&project));
        let end = match code {
            0 => End::Whole,
            _ => End::Stopped,
        };
        let rows = promises::rows(&project, Size::SMALL, end, &mut broken)?;
        let again = project.run(&RUN).await?;
        if again.code != 0 {
            broken.push(format!(
                "the same command ended with {}: {}",
                again.code,
                again.reason()
            ));
        }
        broken.extend(undisturbed.difference(&project.benchmarks())?);
        promises::records(&project, ".", &mut broken).await?;
        let repeated = undisturbed.paid_twice(&server.stats(), lost, &mut broken);
        table.push(
            vec![
                format!("{limit:?}"),
                code.to_string(),
                rows.scored.to_string(),
                lost.to_string(),
                repeated.to_string(),
                format!("{:.1}", began.elapsed().as_secs_f64()),
            ],
            broken,
        );
    }
    if !clock {
        println!("\nNOT TRIED: clock (no `faketime`: apt-get install faketime)");
    }
    Ok(table.print())
}

async fn has_clock() -> bool {
    let tried = Command::new("faketime")
        .args(["-f", "+1s", "true"])
        .status()
        .await;
    tried.is_ok_and(|status| status.success())
}

/// Runs the command under its limit. Returns its exit code.
async fn limited(
    project: &Project,
    limit: Limit,
    broken: &mut Vec<String>,
) -> Result<i32, Box<dyn Error>> {
    let number = match limit {
        Limit::Blocks(number) | Limit::Files(number) => number.to_string(),
        Limit::Clock(seconds) => return jumping(project, seconds, broken).await,
    };
    let script = match limit {
        Limit::Blocks(_) => r#"trap "" XFSZ; ulimit -f "$0" && exec "$@""#,
        _ => r#"ulimit -n "$0" && exec "$@""#,
    };
    let command = project.command(&["sh", "-c", script, &number], &RUN);
    let ran = ended(command, &RUN).await?;
    let reported = ran.err.contains("error: ") || ran.err.contains("warning: ");
    match ran.code {
        0 => {}
        1 | 3 if reported => {}
        code => broken.push(format!(
            "ended with {code}, without a reason: {}",
            ran.reason()
        )),
    }
    Ok(ran.code)
}

/// Runs the command while its clock is set back and forth. The time that only goes forward is left alone, as it is when a clock is set.
async fn jumping(
    project: &Project,
    seconds: i64,
    broken: &mut Vec<String>,
) -> Result<i32, Box<dyn Error>> {
    let times = project.path().join("clock");
    std::fs::write(&times, "+0\n")?;
    let mut command = project.command(&["faketime", "-f", "+0"], &RUN);
    command
        .env("FAKETIME_TIMESTAMP_FILE", &times)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let jumps = async {
        for number in 1_i64.. {
            sleep(Duration::from_millis(60)).await;
            let now = seconds * (number % 3 - 1);
            if std::fs::write(&times, format!("{now:+}\n")).is_err() {
                break;
            }
        }
    };
    let ran = tokio::select! {
        ran = ended(command, &RUN) => ran?,
        () = jumps => return Err("the clock cannot be set".into()),
    };
    if ran.code != 0 {
        broken.push(format!("ended with {}: {}", ran.code, ran.reason()));
    }
    Ok(ran.code)
}
