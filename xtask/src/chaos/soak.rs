//! A long run: memory and open files stay as they are.

use std::{
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::{
    project::{Project, RUN, Size},
    promises::{self, End},
    table::Table,
    trial::Trial,
};
use crate::bench::Server;

/// Scenarios of the run; the rest are samples.
const SCENARIOS: usize = 500;
const IN_FLIGHT: usize = 64;
/// Lines of the table.
const PARTS: usize = 10;
/// How much more memory the second half of a run may take than the second tenth, in MB: what a run keeps for each row is below 100 bytes.
const GROWTH: f64 = 40.0;

/// The state of the process at one moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Duration,
    /// MB.
    memory: f64,
    files: usize,
    replies: u64,
}

/// Runs so many conversations of one turn. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial, conversations: usize) -> Result<usize, Box<dyn Error>> {
    let columns = ["seconds", "replies", "MB", "files"];
    let mut table = Table::new("soak", &columns);
    let per_target = conversations.div_ceil(2);
    let size = Size {
        scenarios: SCENARIOS.min(per_target),
        samples: u32::try_from(per_target.div_ceil(SCENARIOS.min(per_target).max(1)))?,
        turns: 1,
        in_flight: IN_FLIGHT,
    };
    let server = Server::start(2).await?;
    let project = trial.project(&server.base_url, size, "")?;
    let (samples, took) = watched(&project, &server).await?;
    let mut broken = Vec::new();
    let step = samples.len().div_ceil(PARTS).max(1);
    for sample in samples.iter().skip(step - 1).step_by(step) {
        table.push(
            vec![
                format!("{:.0}", sample.at.as_secs_f64()),
                sample.replies.to_string(),
                format!("{:.1}", sample.memory),
                sample.files.to_string(),
            ],
            Vec::new(),
        );
    }
    broken.extend(growth(&samples));
    let rows = promises::rows(&project, size, End::Whole, &mut broken)?;
    if rows.unscored + rows.absent > 0 {
        broken.push(format!(
            "{} rows have no verdict, {} are not there",
            rows.unscored, rows.absent
        ));
    }
    promises::records(&project, ".", &mut broken).await?;
    table.push(
        vec![
            format!("{:.0} in all", took.as_secs_f64()),
            String::new(),
            String::new(),
            String::new(),
        ],
        broken,
    );
    server.stop().await;
    Ok(table.print())
}

/// Runs the command, and looks at it once a second.
async fn watched(
    project: &Project,
    server: &Server,
) -> Result<(Vec<Sample>, Duration), Box<dyn Error>> {
    let began = Instant::now();
    let mut child = project.start(&RUN)?;
    let process = Path::new("/proc").join(child.id().unwrap_or_default().to_string());
    let mut samples = Vec::new();
    let status = loop {
        sleep(Duration::from_secs(1)).await;
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some((memory, files)) = state(&process) {
            samples.push(Sample {
                at: began.elapsed(),
                memory,
                files,
                replies: server.answered().await?,
            });
        }
    };
    match status.success() {
        true => Ok((samples, began.elapsed())),
        false => Err(format!("the run ended with {status}").into()),
    }
}

/// Memory in MB and open files of a process.
fn state(process: &Path) -> Option<(f64, usize)> {
    let status = files::read_text(process.join("status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let files = std::fs::read_dir(process.join("fd")).ok()?.count();
    Some((kilobytes * 1024.0 / 1e6, files))
}

/// What grew while the calls were made.
fn growth(samples: &[Sample]) -> Vec<String> {
    let most = samples
        .iter()
        .map(|sample| sample.replies)
        .max()
        .unwrap_or(0);
    let calling: Vec<_> = samples
        .iter()
        .filter(|sample| sample.replies < most)
        .collect();
    let (begin, half) = (calling.len() / 10, calling.len() / 2);
    let peak = |part: &[&Sample]| part.iter().map(|sample| sample.memory).fold(0.0, f64::max);
    let files = |part: &[&Sample]| part.iter().map(|sample| sample.files).max().unwrap_or(0);
    let early = calling
        .get(begin..half.min(2 * begin + 1))
        .unwrap_or_default();
    let late = calling.get(half..).unwrap_or_default();
    let mut grown = Vec::new();
    if peak(late) > peak(early) + GROWTH {
        grown.push(format!(
            "memory grew from {:.1} to {:.1} MB",
            peak(early),
            peak(late)
        ));
    }
    if files(late) > files(early) + IN_FLIGHT {
        grown.push(format!(
            "open files grew from {} to {}",
            files(early),
            files(late)
        ));
    }
    grown
}
