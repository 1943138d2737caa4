//! Two processes at once: on one tree, and on one cache.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;
use tokio::time::sleep;

use super::{
    project::{Project, RUN, Size, TREE, ended},
    promises,
    random::Random,
    table::Table,
    trial::Trial,
    undisturbed::Undisturbed,
};

/// The same benchmark under another name: other rows, the same cache.
const OTHER: [&str; 3] = ["run", "other", "--quiet"];

/// Runs cases until the time is over. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial) -> Result<usize, Box<dyn Error>> {
    let columns = ["two processes", "exits", "calls", "again", "s"];
    let mut table = Table::new("two processes", &columns);
    let mut random = Random::new(trial.seed);
    let server = ScriptedServer::start().await?;
    let alone = two_benchmarks(trial, &server.base_url()).await?;
    alone.succeeds(&RUN).await?;
    alone.succeeds(&OTHER).await?;
    let undisturbed = Undisturbed::of(&alone, TREE, &server.stats())?;
    let began = Instant::now();
    for number in 0.. {
        if began.elapsed() >= trial.time {
            break;
        }
        let began = Instant::now();
        let mut broken = Vec::new();
        let server = ScriptedServer::builder()
            .latency(Duration::from_millis(6))
            .start()
            .await?;
        let project = two_benchmarks(trial, &server.base_url()).await?;
        let (name, second) = match number % 2 {
            0 => ("one tree", &RUN),
            _ => ("one cache", &OTHER),
        };
        let later = Duration::from_millis(random.below(400) as u64);
        let codes = both(&project, second, later, &mut broken).await?;
        project.succeeds(&RUN).await?;
        project.succeeds(&OTHER).await?;
        broken.extend(undisturbed.difference(&project.benchmarks())?);
        promises::records(&project, ".", &mut broken).await?;
        let repeated = match second == &RUN {
            true => undisturbed.paid_twice(&server.stats(), 0, &mut broken),
            // Two processes may need the same reply at the same moment.
            false => undisturbed.repeated(&server.stats()),
        };
        table.push(
            vec![
                format!("{name}, {} ms apart", later.as_millis()),
                format!("{}, {}", codes.0, codes.1),
                server.stats().requests.to_string(),
                repeated.to_string(),
                format!("{:.1}", began.elapsed().as_secs_f64()),
            ],
            broken,
        );
    }
    Ok(table.print())
}

async fn two_benchmarks(trial: &Trial, base_url: &str) -> Result<Project, Box<dyn Error>> {
    let project = trial.project(base_url, Size::SMALL, "")?;
    let copied = project.copy_within("benchmarks/bench", "benchmarks/other");
    copied.await?;
    Ok(project)
}

/// Starts both commands. Of two on one tree, the one that comes second says that the other one is at work, and ends with 3.
async fn both(
    project: &Project,
    second: &[&str],
    later: Duration,
    broken: &mut Vec<String>,
) -> Result<(i32, i32), Box<dyn Error>> {
    let (first, other) = (project.command(&[], &RUN), project.command(&[], second));
    let other = async {
        sleep(later).await;
        ended(other, second).await
    };
    let (first, other) = tokio::join!(ended(first, &RUN), other);
    let (first, other) = (first?, other?);
    for ran in [&first, &other] {
        let refused = ran.code == 3 && second == RUN;
        if ran.code != 0 && !refused {
            broken.push(format!("ended with {}: {}", ran.code, ran.reason()));
        }
    }
    if first.code != 0 && other.code != 0 {
        broken.push("neither of the two did its work".to_owned());
    }
    Ok((first.code, other.code))
}
