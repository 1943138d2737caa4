//! How near to the rate that a server allows the client comes, and how many attempts the server refuses, in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;
mod simulated;

use std::{fmt, sync::Mutex, time::Duration};

use schema::{EventKind, RateLeft, RateUnit};
use simulated::{Asked, Does, stack};

const MINUTE: Duration = Duration::from_secs(60);

/// How a server counts.
#[derive(Clone, Copy, Debug)]
enum Counts {
    /// A bucket that fills steadily and holds the requests of so many seconds.
    Bucket(f64),
    /// A fresh number for each so many seconds.
    Window(f64),
}

/// What a server that refuses says about when to come again.
#[derive(Clone, Copy, Debug)]
enum Says {
    Nothing,
    /// Whole seconds, rounded up.
    Seconds,
    /// The time until it takes a request again.
    Exactly,
}

struct Server {
    /// Requests a second.
    rate: f64,
    counts: Counts,
    says: Says,
    takes: Duration,
    /// How many tokens or requests it says are left, for each request.
    announces: Option<(RateUnit, u64)>,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} a second, {:?}, says {:?}, takes {:?}, announces {:?}",
            self.rate, self.counts, self.says, self.takes, self.announces
        )
    }
}

impl Server {
    fn behaviour(&self) -> impl Fn(&Asked<'_>) -> Does + Send + Sync + 'static {
        let Self {
            rate,
            counts,
            says,
            takes,
            announces,
        } = *self;
        let most = match counts {
            Counts::Bucket(seconds) => (rate * seconds).max(1.0),
            Counts::Window(seconds) => rate * seconds,
        };
        let state = Mutex::new((most, 0.0));
        move |asked| {
            let now = asked.time.as_secs_f64();
            let mut state = state.lock().unwrap();
            let (left, since) = *state;
            let (left, since, until) = match counts {
                Counts::Bucket(_) => {
                    let left = (left + (now - since) * rate).min(most);
                    (left, now, (1.0 - left) / rate)
                }
                Counts::Window(seconds) if (now / seconds).floor() > (since / seconds).floor() => {
                    (most, now, ((now / seconds).floor() + 1.0) * seconds - now)
                }
                Counts::Window(seconds) => {
                    (left, since, ((now / seconds).floor() + 1.0) * seconds - now)
                }
            };
            // Sums of floats.
            let is_taken = left >= 1.0 - 1e-9;
            *state = (left - f64::from(u8::from(is_taken)), since);
            if is_taken {
                let mixed = (asked.number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
                let takes = takes.mul_f64(0.7 + 0.6 * (mixed as f64 / 65536.0));
                let Some((unit, each)) = announces else {
                    return Does::Answer(takes);
                };
                let left = (left - 1.0).max(0.0);
                let resets_in = match counts {
                    Counts::Bucket(_) => (most - left) / rate,
                    Counts::Window(_) => until,
                };
                let left = RateLeft {
                    unit,
                    left: left as u64 * each,
                    resets_in: Duration::from_secs_f64(resets_in),
                };
                return Does::AnswerLeft(takes, left);
            }
            Does::Refuse(match says {
                Says::Nothing => None,
                Says::Seconds => Some(Duration::from_secs_f64(until.ceil().max(1.0))),
                Says::Exactly => Some(Duration::from_secs_f64(until)),
            })
        }
    }
}

#[derive(Debug)]
struct Went {
    used: f64,
    refused: f64,
    failed: usize,
}

async fn under_load(server: &Server) -> Went {
    let stack = stack(200, server.behaviour());
    let failed = stack.load(200, MINUTE).await;
    let (answered, refused) = (stack.seen.answered() as f64, stack.seen.refused() as f64);
    Went {
        used: answered / (server.rate * stack.began.elapsed().as_secs_f64()),
        refused: refused / (answered + refused),
        failed,
    }
}

/// 200 rows ask for a minute, and what they have begun is finished. `cargo test ... -- --nocapture` prints all figures.
async fn used_and_refused(counts: Counts, least_used: f64, most_refused: f64) {
    let mut wrong = Vec::new();
    for rate in [5.0, 20.0, 200.0] {
        for says in [Says::Nothing, Says::Seconds, Says::Exactly] {
            for takes in [50, 700] {
                let takes = Duration::from_millis(takes);
                let server = Server {
                    rate,
                    counts,
                    says,
                    takes,
                    announces: None,
                };
                let went = under_load(&server).await;
                let line = format!(
                    "{:5.1}% used, {:4.1}% refused: {server}",
                    100.0 * went.used,
                    100.0 * went.refused
                );
                println!("{line}");
                assert_eq!(went.failed, 0, "{line}");
                if went.used < least_used || went.refused > most_refused {
                    wrong.push(line);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_store_of_a_second() {
    used_and_refused(Counts::Bucket(1.0), 0.95, 0.055).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_of_five_seconds() {
    used_and_refused(Counts::Bucket(5.0), 0.95, 0.16).await;
}

#[tokio::test(start_paused = true)]
async fn no_store() {
    used_and_refused(Counts::Bucket(0.0), 0.65, 0.12).await;
}

#[tokio::test(start_paused = true)]
async fn so_many_each_second() {
    used_and_refused(Counts::Window(1.0), 0.4, 0.14).await;
}

#[tokio::test(start_paused = true)]
async fn so_many_each_ten_seconds() {
    used_and_refused(Counts::Window(10.0), 0.9, 0.2).await;
}

/// A wait of a minute is no sign that nothing limits the rate any more.
#[tokio::test(start_paused = true)]
async fn so_many_each_two_minutes() {
    let server = Server {
        rate: 1.0 / 3.0,
        counts: Counts::Window(120.0),
        says: Says::Seconds,
        takes: Duration::from_millis(50),
        announces: None,
    };
    let stack = stack(200, server.behaviour());
    let load = tokio::time::timeout(10 * MINUTE, stack.load(200, 9 * MINUTE));
    // Not all have their answer by then.
    let _ = load.await;
    let (answered, refused) = (stack.seen.answered(), stack.seen.refused());
    println!("{answered} answered, {refused} refused: 40 each two minutes");
    assert!(answered >= 150 && refused < 60, "{answered} {refused}");
}

/// Not the rate is limited here, but how many are in flight: the pace finds what that comes to.
#[tokio::test(start_paused = true)]
async fn so_many_at_once() {
    for most in [4, 20, 100] {
        let stack = stack(200, move |asked| {
            let mixed = (asked.number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
            let takes = Duration::from_millis(700).mul_f64(0.7 + 0.6 * (mixed as f64 / 65536.0));
            if asked.in_flight > most {
                return Does::Refuse(None);
            }
            Does::Answer(takes)
        });
        assert_eq!(stack.load(200, MINUTE).await, 0);
        let (answered, refused) = (stack.seen.answered() as f64, stack.seen.refused() as f64);
        let used = answered / (most as f64 / 0.7 * stack.began.elapsed().as_secs_f64());
        let refused = refused / (answered + refused);
        println!(
            "{:5.1}% used, {:4.1}% refused: {most} at once",
            100.0 * used,
            100.0 * refused
        );
        assert!(used > 0.6 && refused < 0.1, "{most}: {used} {refused}");
    }
}

/// Where the endpoint says what is left, next to nothing has to be refused to know its rate.
#[tokio::test(start_paused = true)]
async fn what_is_left_is_spread_over_the_time_until_the_reset() {
    for (counts, most_refused) in [
        (Counts::Bucket(60.0), 0.02),
        (Counts::Window(60.0), 0.025),
        // What is known of a second is old when it comes.
        (Counts::Bucket(1.0), 0.055),
        (Counts::Window(1.0), 0.065),
    ] {
        for rate in [5.0, 20.0, 200.0] {
            for takes in [50, 700, 10_000] {
                for announces in [(RateUnit::Requests, 1), (RateUnit::Tokens, 1000)] {
                    let server = Server {
                        rate,
                        counts,
                        says: Says::Nothing,
                        takes: Duration::from_millis(takes),
                        announces: Some(announces),
                    };
                    spread(&server, most_refused).await;
                }
            }
        }
    }
}

async fn spread(server: &Server, most_refused: f64) {
    let stack = stack(200, server.behaviour());
    let failed = stack.load(200, 3 * MINUTE).await;
    let (answered, refused) = (stack.seen.answered() as f64, stack.seen.refused() as f64);
    // 200 rows have no more answers than that.
    let possible = server.rate.min(200.0 / server.takes.as_secs_f64());
    let used = answered / (possible * stack.began.elapsed().as_secs_f64());
    let refused = refused / (answered + refused);
    let changes = stack.record.events(EventKind::PaceChanged).len();
    let line = format!(
        "{:5.1}% used, {:4.1}% refused, {changes} events: {server}",
        100.0 * used,
        100.0 * refused,
    );
    println!("{line}");
    assert_eq!(failed, 0, "{line}");
    assert!(used > 0.9 && refused <= most_refused, "{line}");
    assert!(changes <= 60, "{line}");
}

/// An endpoint without a limit says that next to nothing is left: what it takes counts, not what it says.
#[tokio::test(start_paused = true)]
async fn what_is_not_so_costs_no_more_than_40_seconds() {
    type Left = fn(usize) -> (u64, u64);
    let cases: [(&str, Left); 6] = [
        ("nothing is ever left", |_| (0, 60)),
        ("one is left", |_| (1, 60)),
        ("until when cannot be", |_| (0, 1_000_000_000)),
        ("it was reset long ago", |_| (0, 0)),
        ("one or two are left", |n| (1 + n as u64 % 2, 100)),
        ("all of a day is left", |_| (10_000, 86_400)),
    ];
    for (what, left) in cases {
        let stack = stack(200, move |asked| {
            let (left, seconds) = left(asked.number);
            let left = RateLeft {
                unit: RateUnit::Requests,
                left,
                resets_in: Duration::from_secs(seconds),
            };
            Does::AnswerLeft(Duration::from_secs(1), left)
        });
        assert_eq!(stack.load(200, 3 * MINUTE).await, 0);
        let answered = stack.seen.answered();
        println!("{answered} answered: {what}");
        // 200 a second.
        assert!(answered >= 200 * 140, "{what}: {answered}");
    }
}
