//! Puts new segments in the place of others, so that a kill at any point leaves the ones or the others.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    INDEX, files_in,
    index::{SegmentIndex, segment_name},
    index_of,
};
use crate::{RunError, write_json};

/// Makes `index` that of the segments in `folder`. All its segments are there. Segments that got the name of a replacement, because the present
/// index needed theirs, get the names that they have in a new folder, so that the same rows give the same files.
pub(super) fn put_index(folder: &Path, mut index: SegmentIndex) -> Result<(), RunError> {
    let path = folder.join(INDEX);
    write_json(&path, &index)?;
    let mut is_renamed = false;
    for (segment, number) in index.segments.iter_mut().zip(1..) {
        let name = segment_name(number);
        if segment.file != name {
            add_name(&folder.join(&segment.file), &folder.join(&name))?;
            segment.file = name;
            is_renamed = true;
        }
    }
    if is_renamed {
        write_json(&path, &index)?;
    }
    let files = index.segments.iter();
    let kept: HashSet<PathBuf> = files.map(|segment| folder.join(&segment.file)).collect();
    for file in files_in(folder) {
        if file != path && !kept.contains(&file) {
            remove(&file)?;
        }
    }
    Ok(())
}

/// Gives the file a second name. What has that name is not in the index.
fn add_name(file: &Path, name: &Path) -> Result<(), RunError> {
    remove(name)?;
    // Some file systems have no hard links.
    let added = fs::hard_link(file, name).or_else(|_| {
        let mut copied = files::open(file)?;
        let mut to = files::create_unfinished(name.parent().unwrap_or(Path::new(".")))?;
        io::copy(&mut copied, &mut to)?;
        to.as_file().sync_all()?;
        to.persist(name).map(|_| ()).map_err(|error| error.error)
    });
    added.map_err(|error| RunError::write(name, error))
}

fn remove(path: &Path) -> Result<(), RunError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RunError::write(path, error)),
        _ => Ok(()),
    }
}

/// Removes the segments in the place of the plain file at `plain`, which counts now. Files of others in their folder stay.
pub(crate) fn remove_segments(plain: &Path) -> Result<(), RunError> {
    let index = index_of(plain);
    let Some(folder) = index.parent().filter(|folder| folder.is_dir()) else {
        return Ok(());
    };
    files::remove_unfinished(folder);
    remove(&index)?;
    for file in files_in(folder) {
        remove(&file)?;
    }
    // It is not empty where others have files in it.
    let _ = fs::remove_dir(folder);
    Ok(())
}
