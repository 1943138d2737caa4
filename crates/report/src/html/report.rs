//! A finished report: written as one file or as a folder, or served part by part.

use std::{
    fs,
    io::{self, Write},
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use interop::{ExportError, OutFile};

use super::{
    Index, IndexMetric, Row, RunKind,
    chunks::{Spool, Spooled, pack, pack_value},
    page::{LivePage, PageForm, page},
};

/// The most bytes of data in a single file. Browsers open larger files slowly or not at all.
pub const FILE_LIMIT: u64 = 150 << 20;

/// An error while a report is written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The report is too large for one file.
    #[error("the data of the report are more than {} MB, too large for one file", .limit >> 20)]
    TooLarge {
        /// The most bytes that the data may have.
        limit: u64,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] ExportError),
}

/// The overview of runs with their rows and conversations.
#[derive(Debug)]
pub struct Report {
    index: Index,
    sections: [String; 2],
    problems: Vec<String>,
    chunks: Vec<Vec<Spooled>>,
    spool: Spool,
}

impl Report {
    pub(super) fn new(
        index: Index,
        sections: [String; 2],
        problems: Vec<String>,
        chunks: Vec<Vec<Spooled>>,
        spool: Spool,
    ) -> Self {
        Self {
            index,
            sections,
            problems,
            chunks,
            spool,
        }
    }

    /// The index of all runs and rows.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The contents of the sections `overview` and `cost`, as HTML.
    #[must_use]
    pub fn sections(&self) -> [&str; 2] {
        self.sections.each_ref().map(String::as_str)
    }

    /// Missing or broken data of the runs, one line each.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Sets the order in which people label the rows of each benchmark's run. `order` takes the rows with their metrics and returns their
    /// positions in that order. `seed` is the seed that `order` draws with.
    ///
    /// Does nothing if the page leaves rows out, because notable rows are not a random sample of all rows.
    pub fn order_labels(
        &mut self,
        seed: u64,
        order: impl Fn(&[(&Row, &IndexMetric)]) -> Vec<usize>,
    ) {
        let index = &mut self.index;
        if index.rows.len() as u64 != index.total_rows {
            return;
        }
        for (number, run) in index.runs.iter_mut().enumerate() {
            if run.kind != RunKind::Benchmark {
                continue;
            }
            let rows = index.rows.iter().enumerate();
            let of_run = rows.filter_map(|(place, row)| {
                let metric = index.metrics.get(row.metric)?;
                (row.run == number).then_some((place, (row, metric)))
            });
            let (places, rows): (Vec<usize>, Vec<_>) = of_run.unzip();
            let order = order(&rows).into_iter();
            run.label_order = order
                .filter_map(|place| places.get(place).copied())
                .collect();
        }
        index.label.seed = Some(seed);
    }

    /// The page without data, for a server that serves the data separately.
    #[must_use]
    pub fn live_page(&self, live: &LivePage) -> String {
        self.page(PageForm::Live(live)).concat()
    }

    /// Chunk `number`, from 0, as JSON; `None` if there is no such chunk.
    ///
    /// # Errors
    /// If the temporary files cannot be read.
    pub fn chunk(&mut self, number: usize) -> io::Result<Option<Vec<u8>>> {
        let texts = self.chunks.get(number);
        texts.map(|texts| self.spool.list(texts)).transpose()
    }

    fn page(&self, form: PageForm<'_>) -> [String; 2] {
        let [overview, cost] = self.sections();
        page(form, &self.index, overview, cost)
    }

    /// Writes the whole report into one file, and replaces an existing file.
    ///
    /// # Errors
    /// If the report is too large, or the file cannot be written. No partial file is left.
    pub fn write_file(self, path: &Path) -> Result<PathBuf, ReportError> {
        self.write_file_of(FILE_LIMIT, path)
    }

    /// The same as [`Report::write_file`], with at most `limit` bytes of data.
    ///
    /// # Errors
    /// See [`Report::write_file`].
    pub fn write_file_of(mut self, limit: u64, path: &Path) -> Result<PathBuf, ReportError> {
        let [head, tail] = self.page(PageForm::File);
        let mut page = PageFile::create(path)?;
        page.limit = limit;
        page.put(&head)?;
        page.embed("probity-index", &self.packed_index(path)?)?;
        self.each_packed(path, |number, data| {
            page.embed(&format!("probity-chunk-{number}"), data)
        })?;
        page.put(&tail)?;
        Ok(page.out.keep()?)
    }

    /// Writes the page as `index.html` in `folder`, and its chunks beside it in `data`. The page is written last, so that it never names
    /// chunks that do not exist.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_folder(mut self, folder: &Path) -> Result<PathBuf, ReportError> {
        let path = folder.join("index.html");
        let data = folder.join("data");
        let [head, tail] = self.page(PageForm::Folder);
        let mut page = PageFile::create(&path)?;
        page.put(&head)?;
        page.embed("probity-index", &self.packed_index(&path)?)?;
        self.each_packed(&data, |number, chunk| {
            let mut file = PageFile::create(&data.join(format!("chunk-{number}.js")))?;
            file.put(&format!("probityChunk({number},\"{chunk}\")\n"))?;
            file.out.keep()?;
            Ok(())
        })?;
        page.put(&tail)?;
        remove_chunks(&data, self.chunks.len());
        Ok(page.out.keep()?)
    }

    fn packed_index(&self, path: &Path) -> Result<String, ReportError> {
        let packed = pack_value(&self.index);
        packed.map_err(|error| ExportError::write(path, error).into())
    }

    /// Packs the chunks, several at once, and passes them to `take` in order.
    fn each_packed(
        &mut self,
        path: &Path,
        mut take: impl FnMut(usize, &str) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let mut number = 0;
        for texts in self.chunks.chunks(workers) {
            let lists = texts
                .iter()
                .map(|texts| self.spool.list(texts))
                .collect::<io::Result<Vec<_>>>();
            let packed = lists.and_then(|lists| pack_all(&lists));
            for data in packed.map_err(|error| ExportError::write(path, error))? {
                take(number, &data)?;
                number += 1;
            }
        }
        Ok(())
    }
}

/// Packs each list in its own thread.
fn pack_all(lists: &[Vec<u8>]) -> io::Result<Vec<String>> {
    thread::scope(|scope| {
        let threads: Vec<_> = lists
            .iter()
            .map(|list| scope.spawn(|| pack(list)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(packed) => packed,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    })
}

/// Removes the chunks of an earlier, larger report from the folder `data`.
fn remove_chunks(data: &Path, chunks: usize) {
    for entry in fs::read_dir(data).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("chunk-")?.strip_suffix(".js"))
            .and_then(|number| number.parse::<usize>().ok());
        if number.is_some_and(|number| number >= chunks) {
            // A chunk that cannot be removed is never read.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file of the report that is being written.
struct PageFile {
    out: OutFile,
    /// Bytes of data in the file so far.
    embedded: u64,
    /// The most bytes of data.
    limit: u64,
}

impl PageFile {
    fn create(path: &Path) -> Result<Self, ReportError> {
        let out = OutFile::create(path)?;
        Ok(Self {
            out,
            embedded: 0,
            limit: u64::MAX,
        })
    }

    fn put(&mut self, text: &str) -> Result<(), ReportError> {
        let put = self.out.write_all(text.as_bytes());
        Ok(self.out.with_path(put)?)
    }

    /// Adds data, in base64, as an element that browsers do not parse.
    fn embed(&mut self, id: &str, data: &str) -> Result<(), ReportError> {
        self.embedded += data.len() as u64;
        if self.embedded > self.limit {
            return Err(ReportError::TooLarge { limit: self.limit });
        }
        self.put(&format!(
            "<script type=\"application/octet-stream;base64\" id=\"{id}\">"
        ))?;
        self.put(data)?;
        self.put("</script>\n")
    }
}
