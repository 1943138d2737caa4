//! Commands that are killed at random moments, and then run to their end.

mod grounds;
mod tally;
mod writers;

use std::{error::Error, time::Instant};

use self::{grounds::Grounds, tally::Tally};
use super::{project::Size, random::Random, table::Table, trial::Trial};

const SIZE: Size = Size {
    scenarios: 4,
    samples: 2,
    turns: 2,
    in_flight: 3,
};

/// Kills each command `kills` times, or fewer where the time is over, but at least once. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial, kills: u32) -> Result<usize, Box<dyn Error>> {
    let columns = ["command", "kills", "at work", "lost", "again", "s"];
    let mut table = Table::new("kills", &columns);
    let mut random = Random::new(trial.seed);
    let grounds = Grounds::new(trial).await?;
    // Of all commands one round after the other, so that a short time reaches each of them.
    let mut tallies = Vec::new();
    for writer in writers::all() {
        tallies.push(Tally::new(writer, &grounds).await?);
    }
    let until = Instant::now() + trial.time;
    let goes_on =
        |round: u32, tally: &Tally| tally.kills < kills && (round == 0 || Instant::now() < until);
    for round in 0.. {
        if !tallies.iter().any(|tally| goes_on(round, tally)) {
            break;
        }
        for tally in &mut tallies {
            if goes_on(round, tally) {
                tally.round(&grounds, kills, &mut random).await?;
            }
        }
    }
    for tally in tallies {
        table.push(tally.cells(), tally.broken);
    }
    Ok(table.print())
}
