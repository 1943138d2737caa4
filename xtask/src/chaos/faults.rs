//! Faults of the server and of the network.

use std::{error::Error, time::Instant};

use scripted_llm::{Fault, ScriptedServer};

use super::{
    project::{Project, Size, TREE, difference, files},
    promises::{self, End, Rows},
    proxy::{DAMAGES, Damage, Proxy},
    random::Random,
    table::Table,
    trial::Trial,
    undisturbed::Undisturbed,
};

/// Few attempts and a breaker that opens early, so that a case takes seconds. The judge may fail in every row.
const SETTINGS: &str = "retries: {max_attempts: 2, circuit_breaker: 2s}\n";
const RUN: [&str; 4] = ["run", "bench", "--quiet", "--keep-going"];

/// Faults after which there is no reply: rows fail, and the next run makes them the ones of an undisturbed run.
const NO_REPLY: [&str; 11] = [
    "500",
    "503",
    "429",
    "400",
    "401",
    "404",
    "html",
    "error-body",
    "truncated-json",
    "reset",
    "hang",
];
/// Faults with a reply that may be used as it is, or whose tokens count: rows can differ from those of an undisturbed run.
const ODD_REPLY: [&str; 13] = [
    "no-choices",
    "null-content",
    "empty-content",
    "no-usage",
    "big:1",
    "invalid-utf8",
    "slow:150",
    "prose",
    "fenced",
    "think",
    "wrong-type",
    "missing-key",
    "says:{\"present\": \"maybe\"}",
];
const SHARES: [f64; 3] = [0.1, 0.5, 1.0];

/// What happens in one case.
#[derive(Clone, Debug)]
enum Disturbance {
    /// The server's faults, each for a share of the calls.
    Server(Vec<&'static str>, f64),
    /// What the proxy does to this share of the pieces.
    Network(Vec<Damage>, f64),
}

impl Disturbance {
    fn name(&self) -> String {
        let (names, share) = match self {
            Self::Server(kinds, share) => (kinds.join("+"), share),
            Self::Network(damages, share) => {
                let names: Vec<_> = damages.iter().map(|damage| format!("{damage:?}")).collect();
                (format!("proxy: {}", names.join("+").to_lowercase()), share)
            }
        };
        let short = match names.chars().count() {
            0..=40 => names,
            _ => format!("{}…", names.chars().take(39).collect::<String>()),
        };
        format!("{short} {:.0}%", share * 100.0)
    }

    /// Whether replies that were used can be others than those of an undisturbed run.
    fn changes_replies(&self) -> bool {
        match self {
            Self::Server(kinds, _) => kinds.iter().any(|kind| ODD_REPLY.contains(kind)),
            Self::Network(damages, _) => damages.contains(&Damage::Corrupt),
        }
    }
}

/// All cases, in an order that the seed decides.
fn troubles(random: &mut Random) -> Vec<Disturbance> {
    let mut all = Vec::new();
    for share in SHARES {
        // A context of many megabytes takes the time of all other cases.
        let fits = |kind: &&&str| share < 0.5 || !kind.starts_with("big");
        let alone = NO_REPLY.iter().chain(&ODD_REPLY).filter(fits);
        all.extend(alone.map(|kind| Disturbance::Server(vec![kind], share)));
        all.push(Disturbance::Server(NO_REPLY.to_vec(), share));
        all.push(Disturbance::Server(ODD_REPLY.to_vec(), share));
        all.push(Disturbance::Server(
            [&NO_REPLY[..], &ODD_REPLY[..]].concat(),
            share,
        ));
        all.extend(DAMAGES.map(|damage| Disturbance::Network(vec![damage], share)));
        all.push(Disturbance::Network(DAMAGES.to_vec(), share));
    }
    for at in (1..all.len()).rev() {
        all.swap(at, random.below(at + 1));
    }
    all
}

/// Runs cases until the time is over. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial) -> Result<usize, Box<dyn Error>> {
    let columns = [
        "fault", "calls", "scored", "unscored", "not run", "then", "again", "s",
    ];
    let mut table = Table::new("faults of server and network", &columns);
    let undisturbed = undisturbed(trial).await?;
    let began = Instant::now();
    let mut random = Random::new(trial.seed);
    for trouble in troubles(&mut random) {
        if began.elapsed() >= trial.time {
            break;
        }
        case(trial, &trouble, &undisturbed, random.next(), &mut table).await?;
    }
    Ok(table.print())
}

async fn undisturbed(trial: &Trial) -> Result<Undisturbed, Box<dyn Error>> {
    let server = ScriptedServer::start().await?;
    let project = trial.project(&server.base_url(), Size::SMALL, SETTINGS)?;
    project.succeeds(&RUN).await?;
    Undisturbed::of(&project, TREE, &server.stats())
}

async fn case(
    trial: &Trial,
    trouble: &Disturbance,
    undisturbed: &Undisturbed,
    seed: u64,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let server = ScriptedServer::start().await?;
    let (damages, share) = match trouble {
        Disturbance::Server(kinds, share) => {
            server.set_faults(faults(kinds, *share)?);
            (&[][..], 0.0)
        }
        Disturbance::Network(damages, share) => (&damages[..], *share),
    };
    let proxy = Proxy::start(server.address(), damages, share, seed).await?;
    let project = trial.project(&proxy.base_url(), Size::SMALL, SETTINGS)?;
    let mut broken = Vec::new();
    let first = disturbed(&project, &mut broken).await?;
    server.set_faults([]);
    proxy.mend();
    let then = mended(trouble, &project, undisturbed, &mut broken).await?;
    let repeated = match trouble.changes_replies() {
        // Where replies are others, so are the requests after them, and rows may have some in common.
        true => undisturbed.repeated(&server.stats()),
        false => undisturbed.paid_twice(&server.stats(), proxy.damaged(), &mut broken),
    };
    let requests = server.stats().requests;
    table.push(
        vec![
            trouble.name(),
            requests.to_string(),
            first.scored.to_string(),
            first.unscored.to_string(),
            first.absent.to_string(),
            format!(
                "{}/{}",
                then.scored,
                then.scored + then.unscored + then.absent
            ),
            repeated.to_string(),
            format!("{:.1}", began.elapsed().as_secs_f64()),
        ],
        broken,
    );
    Ok(())
}

fn faults(kinds: &[&str], share: f64) -> Result<Vec<Fault>, Box<dyn Error>> {
    let mut left = 1.0;
    let each = share / kinds.len() as f64;
    let mut faults = Vec::new();
    for kind in kinds {
        let fault: Fault = kind.parse()?;
        // The first fault that applies is taken: the later ones are for a share of what is left.
        faults.push(fault.share((each / left).min(1.0)));
        left = (left - each).max(f64::EPSILON);
    }
    Ok(faults)
}

/// The run with the trouble.
async fn disturbed(project: &Project, broken: &mut Vec<String>) -> Result<Rows, Box<dyn Error>> {
    let ran = project.run(&RUN).await?;
    let rows = promises::rows(project, Size::SMALL, End::Whole, broken)?;
    // 3 says that nothing could be run: no row has a verdict.
    let is_right = match (rows.failed + rows.absent, ran.code) {
        // A judge without any usable verdict is no good end either.
        (0, code) => code == 0 || (code == 1 && rows.scored == 0),
        (_, 3) => rows.scored == 0,
        (_, code) => code == 1,
    };
    if !is_right {
        broken.push(format!(
            "the run ended with {} and has {rows:?}: {}",
            ran.code,
            ran.reason()
        ));
    }
    promises::records(project, ".", broken).await?;
    Ok(rows)
}

/// The same command when the trouble is over, twice: rows that failed are made, and what is made is not called for again.
async fn mended(
    trouble: &Disturbance,
    project: &Project,
    undisturbed: &Undisturbed,
    broken: &mut Vec<String>,
) -> Result<Rows, Box<dyn Error>> {
    let ran = project.run(&RUN).await?;
    let rows = promises::rows(project, Size::SMALL, End::Whole, broken)?;
    promises::records(project, ".", broken).await?;
    if rows.absent > 0 {
        broken.push(format!(
            "{} rows are not there after the second run",
            rows.absent
        ));
    }
    if !trouble.changes_replies() {
        if ran.code != 0 {
            broken.push(format!(
                "the second run ended with {}: {}",
                ran.code,
                ran.reason()
            ));
        }
        broken.extend(undisturbed.difference(&project.benchmarks())?);
    }
    if ran.code != 0 {
        // What failed again is called for again.
        return Ok(rows);
    }
    let before = files(&project.benchmarks())?;
    let ran = project.run(&[&RUN[..], &["--json"]].concat()).await?;
    let printed: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
    if printed["replies"]["asked"] != 0 {
        broken.push(format!(
            "the third run calls again: {} calls",
            printed["replies"]["asked"]
        ));
    }
    broken.extend(difference(&files(&project.benchmarks())?, &before));
    Ok(rows)
}
