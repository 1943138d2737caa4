//! Finds the folder of a project, which contains `benchmarks` and the configuration, from any folder below it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The folder of the project, relative to the current folder: empty if it is the current one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// Finds the project of the current folder.
    pub fn find() -> Self {
        let home = env::var_os("HOME").map(PathBuf::from);
        match env::current_dir() {
            Ok(current) => Self::above(&current, home.as_deref()),
            // If the current folder is unknown, relative paths may still work.
            Err(_) => Self::default(),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the project is not in the current folder.
    pub fn is_above(&self) -> bool {
        !self.root.as_os_str().is_empty()
    }

    /// The project of `current`: the nearest folder, itself or an ancestor, that contains one. The search ends at the root of
    /// a git repository, at `home`, and at folders of another owner, whose configuration cannot be trusted.
    fn above(current: &Path, home: Option<&Path>) -> Self {
        // A configuration in the current folder is meant for this folder.
        if has_config(current) {
            return Self::default();
        }
        let mut root = PathBuf::new();
        for folder in current.ancestors() {
            if owner(folder) != owner(current) {
                break;
            }
            if is_project(folder) {
                return Self { root };
            }
            if folder.join(".git").exists() || home == Some(folder) {
                break;
            }
            root.push("..");
        }
        Self::default()
    }
}

fn has_config(folder: &Path) -> bool {
    let names = ["config.yaml", "config.yml", "probity.toml"];
    names.iter().any(|name| folder.join(name).exists())
}

/// Whether a folder contains a project. A `config.yaml` alone may belong to any program.
fn is_project(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder.join("benchmarks"))
        .into_iter()
        .flatten()
        .flatten();
    folder.join("probity.toml").exists()
        || entries.any(|entry| entry.path().join("benchmark.yaml").exists())
}

#[cfg(unix)]
fn owner(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(folder).ok().map(|folder| folder.uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn the_nearest_project_is_found_and_not_past_a_repository_or_home() {
        let project = tempfile::tempdir().unwrap();
        let path = |name: &str| project.path().join(name);
        write(&path("p/benchmarks/b/benchmark.yaml"));
        write(&path("p/benchmarks/b/runs/a/scores.json"));
        write(&path("p/notes/x"));
        write(&path("p/repository/.git/HEAD"));
        write(&path("p/repository/x"));
        write(&path("p/configured/config.yaml"));
        write(&path("p/own/probity.toml"));
        write(&path("p/own/deep/x"));
        for (folder, home, root) in [
            ("p", None, ""),
            ("p/benchmarks", None, ".."),
            ("p/benchmarks/b/runs/a", None, "../../../.."),
            ("p/notes", None, ".."),
            ("p/notes", Some("p/notes"), ""),
            ("p/notes", Some("p"), ".."),
            ("p/repository", None, ""),
            ("p/configured", None, ""),
            ("p/own/deep", None, ".."),
        ] {
            let home = home.map(path);
            let found = Project::above(&path(folder), home.as_deref());
            assert_eq!(found.root(), Path::new(root), "{folder} {home:?}");
        }
    }
}
