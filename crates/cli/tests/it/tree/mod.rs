//! Folders as maps from path to content, for comparing them byte for byte.

use std::{collections::BTreeMap, fs, path::Path};

/// The page that a run writes beside its results. It shows when the run was and how long each call took, so that two runs never have the
/// same; the test `report` looks at it.
const REPORT: &str = "report.html";

/// Every file below `root` by its path, but for reports.
pub fn read(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(root, root, &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if !path.ends_with(REPORT) {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// Fails with the first difference when the two are not the same.
pub fn assert_same(have: &BTreeMap<String, Vec<u8>>, wanted: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(
        have.keys().collect::<Vec<_>>(),
        wanted.keys().collect::<Vec<_>>(),
        "the files there are"
    );
    for (name, wanted) in wanted {
        let (have, wanted) = (
            String::from_utf8_lossy(&have[name]),
            String::from_utf8_lossy(wanted),
        );
        for (number, (have, wanted)) in have.lines().zip(wanted.lines()).enumerate() {
            assert_eq!(have, wanted, "{name}, line {}", number + 1);
        }
        assert!(
            have == wanted,
            "{name} is longer or shorter than it should be"
        );
    }
}
