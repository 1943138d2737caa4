//! The capital of a bettor against one value of a mean.

use super::{ALMOST, TARGET_CAPITAL, lists::ScenarioLists};

/// The largest bet, as a share of what a scenario can cost.
const CAP: f64 = 0.99;

/// What the scenarios so far add up to. Bets against all values of the mean share it.
///
/// Of a scenario, `a` are its rows and `y` those that passed, both as shares of the rows of the largest scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// The scenarios so far.
    pub(super) scenarios: u64,
    y: f64,
    a: f64,
    yy: f64,
    aa: f64,
    ya: f64,
}

impl Sums {
    /// Adds a scenario.
    pub(super) fn add(&mut self, y: f64, a: f64) {
        self.scenarios += 1;
        self.y += y;
        self.a += a;
        self.yy += y * y;
        self.aa += a * a;
        self.ya += y * a;
    }

    /// How far scenarios spread, as a share of how far single rows would: `prior` before the first one.
    fn spread(&self, prior: f64) -> f64 {
        let rate = if self.a > 0.0 { self.y / self.a } else { 0.0 };
        let found = self.yy - 2.0 * rate * self.ya + rate * rate * self.aa;
        let of_rows = rate * (1.0 - rate) * self.aa;
        (prior + found.max(0.0)) / (1.0 + of_rows.max(0.0))
    }
}

/// What bets on the next scenario need, for all values of the mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    sums: Sums,
    /// The variance of a scenario for each unit of m (1 - m).
    variance: f64,
    /// The scenarios that are left.
    left: f64,
    reserve: f64,
    played: f64,
}

#[expect(clippy::cast_precision_loss, reason = "nothing is counted to 2^53")]
pub(super) const fn number(count: u64) -> f64 {
    count as f64
}

impl Odds {
    /// After `sums`, in `lists`. `prior` is the spread before the first scenario.
    pub(super) fn after(sums: Sums, prior: f64, lists: &ScenarioLists) -> Self {
        let played = number(sums.scenarios);
        let left = lists
            .scenarios(sums.scenarios)
            .saturating_sub(sums.scenarios);
        Self {
            sums,
            variance: sums.spread(prior) * (1.0 + sums.aa) / (1.0 + played),
            left: number(left),
            reserve: lists.reserve(sums.scenarios),
            played,
        }
    }

    fn variance_at(&self, mean: f64) -> f64 {
        self.variance * mean * (1.0 - mean)
    }
}

/// The capital of a bettor that bets against "the mean is `mean` or less". It begins with 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capital {
    mean: f64,
    /// What bets aim at.
    target: f64,
    worth: f64,
    /// The value stays excluded, though a bettor that aims at more may lose again.
    has_excluded: bool,
}

impl Capital {
    /// A bettor against `mean`, between 0 and 1, that aims at `target`.
    pub(super) fn new(mean: f64, target: f64) -> Self {
        Self {
            mean,
            target,
            worth: 1.0,
            has_excluded: false,
        }
    }

    /// What the bettor has.
    pub(super) fn worth(&self) -> f64 {
        self.worth
    }

    /// Whether the value is excluded: the capital has been 40.
    pub(super) fn has_excluded(&self) -> bool {
        self.has_excluded
    }

    /// Whether the capital is what bets aim at: no more bets are made.
    pub(super) fn has_reached(&self) -> bool {
        self.worth >= self.target * ALMOST
    }

    /// Bets on the next scenario, and takes what it gives: `y` of its rows `a` passed. `odds` are those before it.
    pub(super) fn play(&mut self, odds: &Odds, y: f64, a: f64) {
        if self.has_reached() || self.worth <= odds.reserve {
            return;
        }
        let variance = odds.variance_at(self.mean);
        let free = self.worth - odds.reserve;
        let need = ((self.target - odds.reserve) / free).ln().max(0.0);
        let pull = (2.0 * need / (odds.left * variance)).sqrt();
        let drift = (odds.sums.y - self.mean * odds.sums.a) / (odds.played + 4.0)
            - (variance / (odds.played + 4.0)).sqrt();
        let bet = pull.max(drift / variance).min(CAP / self.mean);
        self.worth += free * bet * (y - self.mean * a);
        self.has_excluded |= self.worth >= TARGET_CAPITAL * ALMOST;
    }

    /// The chance that the capital reaches its target by the end of the list, if scenarios go on as so far.
    pub(super) fn chance(&self, odds: &Odds) -> f64 {
        if self.has_reached() {
            return 1.0;
        }
        if self.worth <= odds.reserve || odds.left <= 0.0 {
            return 0.0;
        }
        let variance = odds.variance_at(self.mean);
        let share = (self.worth - odds.reserve) / (self.target - odds.reserve);
        let ahead = (odds.sums.y - self.mean * odds.sums.a) / odds.played;
        let reach = (odds.left / variance).sqrt() * (ahead + (variance / odds.played).sqrt());
        normal(reach - normal_quantile(1.0 - share))
    }
}

/// The distribution function of the normal distribution.
fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Its inverse, by bisection: accurate to 1e-12, and called once for a look.
fn normal_quantile(chance: f64) -> f64 {
    let (mut low, mut high) = (-40.0_f64, 40.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if normal(middle) < chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Bettors end each scenario with the capital of the reference program, and the chance that it gives them.
    #[test]
    fn capitals_are_those_of_the_reference() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/reference/sequential_reference.json"
        );
        let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let cases = all["capital"].as_array().unwrap();
        assert_eq!(cases.len(), 10);
        for (number_of, case) in cases.iter().enumerate() {
            let float = |key: &str| case[key].as_f64().unwrap();
            let list = |of: &Value| [0, 1].map(|at| of[at].as_u64().unwrap());
            let mut each = case["lists"].as_array().unwrap().iter().map(list);
            let one = ScenarioLists::one(each.next().unwrap()[1]);
            let lists = each.fold(one, |all, [from, scenarios]| all.then(from, scenarios));
            let mut capital = Capital::new(float("m"), float("target"));
            let mut sums = Sums::default();
            let biggest = float("biggest");
            for (at, rows) in case["scenarios"].as_array().unwrap().iter().enumerate() {
                let [y, a] = [0, 1].map(|of| rows[of].as_f64().unwrap() / biggest);
                capital.play(&Odds::after(sums, float("prior"), &lists), y, a);
                sums.add(y, a);
                let chance = capital.chance(&Odds::after(sums, float("prior"), &lists));
                for (ours, key, tolerance) in
                    [(capital.worth(), "capital", 1e-9), (chance, "chance", 1e-6)]
                {
                    let expected = case[key][at].as_f64().unwrap();
                    assert!(
                        (ours - expected).abs() <= tolerance * expected.abs().max(1.0),
                        "{key} {number_of} after {}: {ours} is not {expected}",
                        at + 1
                    );
                }
            }
        }
    }
}
