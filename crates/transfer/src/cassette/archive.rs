//! The file of a cassette: a zip archive of its record and its parts.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::{Component, Path, PathBuf},
};

use schema::{numbers::grouped, safety::TestCaseGroup, text::hex};
use sha2::{Digest, Sha256};
use store::{Manifest, open_rows, write_atomically};
use tempfile::{NamedTempFile, TempDir};
use zip::{
    CompressionMethod, DateTime, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions,
};

use super::{CassetteError, CassetteRecord, Player, Recorder, TreeFile};

const RECORD: &str = "cassette.json";
const SETTINGS: &str = "settings.json";
const REPLIES: &str = "replies.jsonl";
/// The folder of the benchmarks' files.
const BENCHMARKS: &str = "benchmarks";
/// The longest record, in bytes.
const LONGEST: u64 = 64 << 20;
/// What all parts may have beyond [`MOST_TIMES`] the bytes of the file.
const FREE: u64 = 64 << 20;
/// How many times larger than the file its parts may be: a small file must not fill the disk. Deflate reaches 1,032 times; replies, each with
/// a key that cannot be compressed, do not come near 100.
const MOST_TIMES: u64 = 100;

/// What a cassette is made of, beside its record.
#[derive(Debug)]
pub struct CassetteParts<'a> {
    /// What is made again, as JSON.
    pub setup: CassetteSetup,
    /// Files that the settings name, by the path they name them by.
    pub files: BTreeMap<String, PathBuf>,
    /// The files that the run began with.
    pub inputs: &'a [TreeFile],
    /// The files of the tree after the run, inputs included.
    pub tree: &'a [TreeFile],
    /// What the models answered.
    pub recorder: &'a Recorder,
}

/// What the run did.
#[derive(Debug)]
pub enum CassetteSetup {
    /// The configuration of a run of benchmarks without secrets and addresses, as JSON.
    Settings(String),
    /// The test cases of a safety evaluation, as JSON. Its settings are in the record.
    TestCases(String),
}

/// Writes the cassette `path` with `record`, whose digests, programs and count are filled in. Nothing is left of a file that could not be
/// written whole. The same parts give the same bytes.
///
/// # Errors
/// When a file cannot be read or written.
pub fn write_cassette(
    path: &Path,
    mut record: CassetteRecord,
    parts: &CassetteParts<'_>,
) -> Result<CassetteRecord, CassetteError> {
    record.programs = parts.recorder.programs();
    record.replies = parts.recorder.count();
    for file in parts.tree {
        let digest = digest(&file.path).map_err(|error| failed(&file.path, error))?;
        record.tree.insert(file.name.clone(), digest);
    }
    let write = |file: &mut BufWriter<&mut NamedTempFile>| -> io::Result<()> {
        let mut writer = PartWriter {
            zip: ZipWriter::new(file),
            parts: &mut record.parts,
            bytes: 0,
        };
        let (name, text) = match &parts.setup {
            CassetteSetup::Settings(text) => (SETTINGS, text),
            CassetteSetup::TestCases(text) => (Manifest::TEST_CASES, text),
        };
        writer.part(name, |out| out.write_all(text.as_bytes()))?;
        for (name, path) in &parts.files {
            writer.file(name, path)?;
        }
        for input in parts.inputs {
            writer.file(&format!("{BENCHMARKS}/{}", input.name), &input.path)?;
        }
        writer.part(REPLIES, |out| {
            parts.recorder.lines(|line| out.write_all(line))
        })?;
        let (mut zip, bytes) = (writer.zip, writer.bytes);
        zip.start_file(RECORD, options()).map_err(io_error)?;
        serde_json::to_writer_pretty(&mut zip, &record)?;
        let file = zip.finish().map_err(io_error)?;
        match bytes > most_unpacked(file.stream_position()?) {
            true => Err(io::Error::other(too_large(bytes))),
            false => Ok(()),
        }
    };
    write_atomically(path, write)?;
    Ok(record)
}

fn failed(path: &Path, source: io::Error) -> CassetteError {
    CassetteError::Io {
        path: path.to_owned(),
        source,
    }
}

fn io_error(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// The most bytes of all parts of an archive of `size` bytes.
fn most_unpacked(size: u64) -> u64 {
    size.saturating_mul(MOST_TIMES).saturating_add(FREE)
}

fn too_large(bytes: u64) -> String {
    format!(
        "unpacked, the archive is larger than {MOST_TIMES} times its size and 64 MiB ({} bytes so far)",
        grouped(bytes)
    )
}

/// The same bytes each time: no file has a time.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .large_file(true)
}

/// The SHA-256 of a file, in hexadecimal; of an index of segments that of the plain file.
pub(super) fn digest(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut open_rows(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// Passes on what is written, and hashes it.
struct Hashed<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

struct PartWriter<'a, W: Write + Seek> {
    zip: ZipWriter<W>,
    parts: &'a mut BTreeMap<String, String>,
    /// The bytes of all parts.
    bytes: u64,
}

impl<W: Write + Seek> PartWriter<'_, W> {
    fn part(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.zip.start_file(name, options()).map_err(io_error)?;
        let mut out = Hashed {
            to: &mut self.zip,
            hash: Sha256::new(),
            bytes: 0,
        };
        write(&mut out)?;
        self.bytes += out.bytes;
        let digest = hex(&out.hash.finalize());
        self.parts.insert(name.to_owned(), digest);
        Ok(())
    }

    fn file(&mut self, name: &str, path: &Path) -> io::Result<()> {
        self.part(name, |out| {
            let copied = open_rows(path).and_then(|mut file| io::copy(&mut file, out));
            let named = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            copied.map(|_| ()).map_err(named)
        })
    }
}

/// A cassette, unpacked into a temporary folder that is removed with it.
#[derive(Debug)]
pub struct Cassette {
    record: CassetteRecord,
    path: PathBuf,
    folder: TempDir,
}

impl Cassette {
    /// Unpacks the cassette at `path`, and compares every part with its digest.
    ///
    /// # Errors
    /// When the file is not a cassette, was written by a newer version, or a part of it was changed, cut or removed.
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let here = |error| failed(path, error);
        let not_one = |reason: String| CassetteError::NotACassette {
            path: path.to_owned(),
            reason,
        };
        let file = files::open(path).map_err(here)?;
        let size = file.metadata().map_err(here)?.len();
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| match error {
            ZipError::Io(error) => here(error),
            error => not_one(format!("no whole archive, it may be cut: {error}")),
        })?;
        let record = text_of(&mut zip, RECORD).map_err(not_one)?;
        let version = serde_json::from_str::<serde_json::Value>(&record)
            .map_err(|error| not_one(format!("{RECORD}: {error}")))?;
        let version = version["format_version"].as_str().unwrap_or_default();
        if !version.starts_with("1.") {
            return Err(CassetteError::Newer {
                path: path.to_owned(),
                version: version.to_owned(),
            });
        }
        let record: CassetteRecord =
            serde_json::from_str(&record).map_err(|error| not_one(format!("{RECORD}: {error}")))?;
        let folder = TempDir::new().map_err(here)?;
        let mut room = most_unpacked(size);
        for (name, expected) in &record.parts {
            let damaged = |reason: String| CassetteError::Damaged {
                path: path.to_owned(),
                part: name.clone(),
                reason,
            };
            let to = below(folder.path(), name)
                .ok_or_else(|| damaged("the name leads out of the folder".to_owned()))?;
            let found = unpack(&mut zip, name, &to, &mut room).map_err(damaged)?;
            if found != *expected {
                return Err(damaged("its content was changed".to_owned()));
            }
        }
        Ok(Self {
            record,
            path: path.to_owned(),
            folder,
        })
    }

    /// Its record.
    #[must_use]
    pub fn record(&self) -> &CassetteRecord {
        &self.record
    }

    /// The file of the settings. Paths in it are relative to its folder.
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.folder.path().join(SETTINGS)
    }

    /// The test cases of a safety evaluation.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn test_cases(&self) -> Result<Vec<TestCaseGroup>, CassetteError> {
        let path = self.folder.path().join(Manifest::TEST_CASES);
        let read = files::read(path).and_then(|text| Ok(serde_json::from_slice(&text)?));
        read.map_err(|error| self.damaged(Manifest::TEST_CASES, &error))
    }

    fn damaged(&self, part: &str, error: &io::Error) -> CassetteError {
        CassetteError::Damaged {
            path: self.path.clone(),
            part: part.to_owned(),
            reason: error.to_string(),
        }
    }

    /// Copies the files that the run began with into the folder `benchmarks`.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn copy_inputs(&self, benchmarks: &Path) -> Result<(), CassetteError> {
        let lead = format!("{BENCHMARKS}/");
        for name in self.record.parts.keys() {
            let Some(own) = name.strip_prefix(&lead) else {
                continue;
            };
            let to = benchmarks.join(own);
            let copied = to
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::copy(self.folder.path().join(name), &to));
            copied.map_err(|error| failed(&to, error))?;
        }
        Ok(())
    }

    /// Makes the models that answer as they did.
    ///
    /// # Errors
    /// When the replies cannot be read.
    pub fn player(&self) -> Result<Player, CassetteError> {
        let path = self.folder.path().join(REPLIES);
        Player::open(&path, self.record.programs.clone())
            .map_err(|error| self.damaged(REPLIES, &error))
    }

    /// The files of results below `folder`, that of the benchmarks or of the result files, that are not those of the run, each with what
    /// is wrong.
    #[must_use]
    pub fn differences(&self, folder: &Path) -> Vec<(String, &'static str)> {
        let mut found = Vec::new();
        for (name, expected) in &self.record.tree {
            match below(folder, name).map(|path| digest(&path)) {
                Some(Ok(digest)) if digest == *expected => {}
                Some(Ok(_)) => found.push((name.clone(), "differs")),
                _ => found.push((name.clone(), "missing")),
            }
        }
        found
    }
}

/// The path `name` in `folder`; `None` if it leads out of it.
fn below(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = Path::new(name).components();
    let is_plain = !name.is_empty()
        && !name.contains('\\')
        && parts.all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| folder.join(name))
}

fn text_of(zip: &mut ZipArchive<BufReader<File>>, name: &str) -> Result<String, String> {
    let file = zip.by_name(name).map_err(|_| format!("no {name} in it"))?;
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map(|_| text)
        .map_err(|error| format!("{name}: {error}"))
}

/// Unpacks the file `name` to `to`, at most `room` bytes, which become fewer by its own. Returns its digest.
fn unpack(
    zip: &mut ZipArchive<BufReader<File>>,
    name: &str,
    to: &Path,
    room: &mut u64,
) -> Result<String, String> {
    let part = zip
        .by_name(name)
        .map_err(|_| "it is missing in the archive".to_owned())?;
    let unpacked = to
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| {
            let mut out = Hashed {
                to: BufWriter::new(File::create(to)?),
                hash: Sha256::new(),
                bytes: 0,
            };
            io::copy(&mut part.take(room.saturating_add(1)), &mut out)?;
            out.flush()?;
            *room = match room.checked_sub(out.bytes) {
                Some(left) => left,
                None => return Err(io::Error::other(too_large(out.bytes))),
            };
            Ok(hex(&out.hash.finalize()))
        });
    unpacked.map_err(|error| error.to_string())
}
