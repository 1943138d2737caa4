//! The version of a program whose author gives none.

use std::path::{Path, PathBuf};

use schema::text::hex;
use sha2::{Digest, Sha256};

use crate::settings::ProcessSettings;

/// The longest file that is hashed, in bytes: programs are shorter.
const LONGEST: u64 = 64 << 20;

/// The SHA-256 of the files that the command names and of those in `files`; `None` if there is none.
pub(crate) fn of_files(settings: &ProcessSettings) -> Option<String> {
    let arguments = settings.command.iter().skip(1).map(PathBuf::from);
    let program = settings.command.first().map(PathBuf::from);
    // A program of the system, such as an interpreter, is not the user's.
    let own = program.filter(|program| program.is_relative() && program.components().count() > 1);
    let mut hash = Sha256::new();
    let mut any = false;
    for file in own
        .into_iter()
        .chain(arguments)
        .chain(settings.files.iter().cloned())
    {
        if let Some(bytes) = content(&settings.folder.join(file)) {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
            any = true;
        }
    }
    any.then(|| hex(&hash.finalize()))
}

fn content(path: &Path) -> Option<Vec<u8>> {
    let about = std::fs::metadata(path).ok()?;
    let is_short = about.is_file() && about.len() <= LONGEST;
    is_short.then(|| files::read(path).ok()).flatten()
}
