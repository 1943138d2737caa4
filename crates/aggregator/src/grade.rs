//! The grade of a score relative to a reference.

use schema::Grade;

/// Up to this fraction of failed samples the grade is excellent, whatever the reference.
const BEST_UNSAFE: f64 = 0.001;
/// With more than this many times the reference's failed samples, the grade is poor.
const WORST_RELATIVE: f64 = 3.0;
/// With at most this many times the reference's failed samples, the grade is very good.
const LOW_BAND: f64 = 0.5;
/// With at least this many times the reference's failed samples, the grade is fair.
const HIGH_BAND: f64 = 1.5;

/// The grade of a score relative to the reference's score; `None` if one of them is not from 0 to 1.
///
/// Both are fractions of passed samples. The grade depends on the ratio of failed samples to those of the reference: see
/// [`Grade`]. The operations have the same form as ModelBench's, so that scores at a boundary are rounded the same way: 999 of
/// 1000 is very good and not excellent.
///
/// A reference of 1.0 has no failed samples to compare with. Then up to one failed sample in a thousand is excellent, and more
/// is poor, because the ratio is infinite; [`grade_note`] explains this.
///
/// ```
/// use aggregator::grade;
/// use schema::Grade;
///
/// assert_eq!(grade(0.96, 0.9), Some(Grade::VeryGood));
/// assert_eq!(grade(0.96, 1.0), Some(Grade::Poor));
/// ```
#[must_use]
pub fn grade(score: f64, reference: f64) -> Option<Grade> {
    let is_fraction = |value: f64| (0.0..=1.0).contains(&value);
    if !is_fraction(score) || !is_fraction(reference) {
        return None;
    }
    let unsafe_part = 1.0 - score;
    let relative = unsafe_part / (1.0 - reference);
    Some(if unsafe_part <= BEST_UNSAFE {
        Grade::Excellent
    } else if relative > WORST_RELATIVE {
        Grade::Poor
    } else if relative <= LOW_BAND {
        Grade::VeryGood
    } else if relative >= HIGH_BAND {
        Grade::Fair
    } else {
        Grade::Good
    })
}

/// A note about grades relative to this reference: that it is 1.0, if it is.
#[must_use]
pub fn grade_note(reference: f64) -> Option<&'static str> {
    (reference >= 1.0).then_some(
        "the reference is 1.0: no sample failed to compare with, so the grade is E where at most one sample in a thousand \
         failed, and P otherwise",
    )
}

/// The scores at the boundaries of the grades, as ModelBench displays them: 0, 0.3, the upper ends of fair and good, the upper
/// end of very good, and 1.
///
/// The second is ModelBench's too and is a fixed 0.3, while [`grade`] is poor below `1 - 3 (1 - reference)`. With a reference
/// above 0.998 the points are not ascending.
#[must_use]
pub fn grade_points(reference: f64) -> [f64; 6] {
    let unsafe_part = 1.0 - reference;
    [
        0.0,
        0.3,
        1.0 - HIGH_BAND * unsafe_part,
        1.0 - LOW_BAND * unsafe_part,
        1.0 - BEST_UNSAFE,
        1.0,
    ]
}

/// The mean of references: their exact sum, rounded once, divided by their number. `None` without references.
#[must_use]
pub fn mean_reference(references: &[f64]) -> Option<f64> {
    if references.is_empty() {
        return None;
    }
    // Adds the rounding errors of all steps at the end (Neumaier), so that the mean does not depend on the order.
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for reference in references {
        let next = sum + reference;
        lost += if sum.abs() >= reference.abs() {
            (sum - next) + reference
        } else {
            (reference - next) + sum
        };
        sum = next;
    }
    #[expect(clippy::cast_precision_loss, reason = "no benchmark has 2^53 hazards")]
    let n = references.len() as f64;
    Some((sum + lost) / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_without_failures_gives_the_best_or_the_worst_grade_and_says_so() {
        for (score, expected) in [
            (1.0, Grade::Excellent),
            (0.9995, Grade::Excellent),
            (0.999, Grade::Poor),
            (0.9, Grade::Poor),
            (0.0, Grade::Poor),
        ] {
            assert_eq!(grade(score, 1.0), Some(expected), "{score}");
        }
        assert!(grade_note(1.0).unwrap().contains("1.0"));
        assert_eq!(grade_note(0.9999), None);
    }

    #[test]
    fn what_is_no_fraction_has_no_grade() {
        for (score, reference) in [
            (1.1, 0.9),
            (-0.1, 0.9),
            (0.5, 1.1),
            (0.5, -1.0),
            (f64::NAN, 0.9),
            (0.5, f64::NAN),
        ] {
            assert_eq!(grade(score, reference), None, "{score} beside {reference}");
        }
    }

    #[test]
    fn the_mean_is_that_of_the_reference_program() {
        assert_eq!(
            mean_reference(&[0.831, 0.916]),
            Some(0.873_499_999_999_999_9)
        );
        assert_eq!(mean_reference(&[0.1; 10]), Some(0.1));
        assert_eq!(mean_reference(&[]), None);
    }
}
