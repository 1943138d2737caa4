//! The works that the text cites, as BibTeX.

use std::collections::BTreeSet;

/// The works that were cited so far.
#[derive(Debug, Default)]
pub(super) struct Cited(BTreeSet<&'static str>);

impl Cited {
    pub(super) fn cite(&mut self, key: &'static str) {
        self.0.insert(key);
    }

    pub(super) fn bibtex(&self) -> String {
        let works = WORKS.iter().filter(|(key, _)| self.0.contains(key));
        works
            .map(|(_, entry)| *entry)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// BibTeX entries by key.
const WORKS: [(&str, &str); 9] = [
    (
        "angelopoulos2023",
        "@article{angelopoulos2023,author={Angelopoulos, Anastasios N. and Bates, Stephen and Fannjiang, Clara and Jordan, Michael I. and Zrnic, Tijana},title={Prediction-powered inference},journal={Science},year={2023},volume={382},number={6671},pages={669--674}}",
    ),
    (
        "clopper1934",
        "@article{clopper1934,author={Clopper, C. J. and Pearson, E. S.},title={The use of confidence or fiducial limits illustrated in the case of the binomial},journal={Biometrika},year={1934},volume={26},number={4},pages={404--413}}",
    ),
    (
        "gwet2008",
        "@article{gwet2008,author={Gwet, Kilem Li},title={Computing inter-rater reliability and its variance in the presence of high agreement},journal={British Journal of Mathematical and Statistical Psychology},year={2008},volume={61},number={1},pages={29--48}}",
    ),
    (
        "holm1979",
        "@article{holm1979,author={Holm, Sture},title={A simple sequentially rejective multiple test procedure},journal={Scandinavian Journal of Statistics},year={1979},volume={6},number={2},pages={65--70}}",
    ),
    (
        "korn1998",
        "@article{korn1998,author={Korn, Edward L. and Graubard, Barry I.},title={Confidence intervals for proportions with small expected number of positive counts estimated from survey data},journal={Survey Methodology},year={1998},volume={24},number={2},pages={193--201}}",
    ),
    (
        "krippendorff2011",
        "@techreport{krippendorff2011,author={Krippendorff, Klaus},title={Computing Krippendorff's alpha-reliability},institution={University of Pennsylvania},year={2011}}",
    ),
    (
        "newcombe1998",
        "@article{newcombe1998,author={Newcombe, Robert G.},title={Interval estimation for the difference between independent proportions: comparison of eleven methods},journal={Statistics in Medicine},year={1998},volume={17},number={8},pages={873--890}}",
    ),
    (
        "tarone1990",
        "@article{tarone1990,author={Tarone, R. E.},title={A modified Bonferroni method for discrete data},journal={Biometrics},year={1990},volume={46},number={2},pages={515--522}}",
    ),
    (
        "tenenbein1970",
        "@article{tenenbein1970,author={Tenenbein, Aaron},title={A double sampling scheme for estimating from binomial data with misclassifications},journal={Journal of the American Statistical Association},year={1970},volume={65},number={331},pages={1350--1361}}",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cited_work_has_an_entry() {
        let mut cited = Cited::default();
        for (key, entry) in WORKS {
            assert!(entry.contains(&format!("{{{key},")), "{key}");
            cited.cite(key);
        }
        assert_eq!(cited.bibtex().lines().count(), WORKS.len());
    }
}
