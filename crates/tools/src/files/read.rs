//! `read`: lines of a text file with their numbers, an image, the text of a PDF or a notebook, or the kept
//! output of an earlier call.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

use agentx_runtime::{BlobStore, LogError, ToolContext, ToolOutcome};
use agentx_types::{Access, BlobId, ContentPart, InputMedium, MediaPart, MediaSource, Picture, ToolStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::content_kind::{self, ContentKind, SNIFFED};
use super::notebook::{LARGEST_NOTEBOOK, is_named_as_notebook, notebook_markdown};
use super::pager::{PagedText, Pager, Window};
use crate::blocking_work::{StopFlag, blocking};
use crate::failure::ToolFailure;
use crate::options::FileOptions;
use crate::text::{self, head};
use crate::typed::{ToolAbout, TypedTool};
use crate::workspace::{Scope, explain};

/// The number of bytes of an id that an error repeats; ids are shorter.
const SHOWN_ID: usize = 100;

/// The arguments of `read`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    /// File to read: absolute, or relative to the working directory.
    path: Option<String>,
    /// Instead of path: id of a kept output, as another result names it.
    blob: Option<String>,
    /// First line, from 1.
    offset: Option<u64>,
    /// Number of lines.
    limit: Option<u64>,
}

pub(crate) struct ReadTool {
    options: FileOptions,
}

/// The kind of a file that was read, with its contents.
enum FileContents {
    Text(String),
    Image {
        media_type: &'static str,
        bytes: Vec<u8>,
    },
}

impl ReadTool {
    pub(crate) fn new(options: FileOptions) -> Self {
        Self { options }
    }

    fn window(&self, input: &ReadInput) -> Result<Window, ToolFailure> {
        if input.limit == Some(0) {
            return Err(ToolFailure::invalid("limit is 0; ask for at least one line."));
        }
        let asked = input
            .limit
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(usize::MAX);
        Ok(Window {
            offset: input.offset.unwrap_or(1).max(1),
            lines: asked.min(self.options.read_lines),
            bytes: self.options.read_bytes,
            line_bytes: self.options.line_bytes,
        })
    }
}

impl TypedTool for ReadTool {
    type Input = ReadInput;

    fn about(&self) -> ToolAbout {
        let description = format!(
            "Reads a file. Text comes with line numbers and a tab before each line, which are not part of the file; at most \
             {} lines or {} at a time, offset and limit choose which. Images (png, jpeg, gif, webp) are shown to you; of PDFs and notebooks (.ipynb) you \
             get the text.",
            self.options.read_lines,
            text::size(self.options.read_bytes as u64)
        );
        ToolAbout::new("read", description, Access::Read)
            .path("path")
            .idempotent()
    }

    async fn run(&self, input: ReadInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let window = self.window(&input)?;
        match (input.path, input.blob) {
            (Some(path), None) => self.read_file(path, window, context).await,
            (None, Some(blob)) => read_blob(&blob, window, &context).await,
            _ => Err(ToolFailure::invalid("Give either path or blob.")),
        }
    }
}

impl ReadTool {
    async fn read_file(
        &self,
        path: String,
        window: Window,
        context: ToolContext,
    ) -> Result<ToolOutcome, ToolFailure> {
        let scope = Scope::of("read", &context);
        let stop = StopFlag::new(&context.cancel, None);
        let (options, cancel) = (self.options.clone(), context.cancel.clone());
        let name = path.clone();
        let found = blocking(&context.cancel, move || {
            let reading = Reading {
                path: &path,
                window,
                options: &options,
                stop: &stop,
                cancel: &cancel,
            };
            reading.look(&scope)
        })
        .await?;
        match found {
            FileContents::Text(text) => Ok(ToolOutcome::success(text)),
            FileContents::Image { media_type, bytes } => match (blind(&context), Picture::of(&bytes)) {
                (Some(model), _) => Err(unseen(&name, media_type, bytes.len(), model)),
                (None, Ok(picture)) => show_image(name, picture, bytes, &context.blobs).await,
                (None, Err(why)) => Err(ToolFailure::failed(format!(
                    "{name} cannot be shown to you: {why}."
                ))),
            },
        }
    }
}

/// The reading of one file.
struct Reading<'a> {
    path: &'a str,
    window: Window,
    options: &'a FileOptions,
    stop: &'a StopFlag,
    cancel: &'a CancellationToken,
}

impl Reading<'_> {
    fn look(&self, scope: &Scope) -> Result<FileContents, ToolFailure> {
        let path = self.path;
        let (real, metadata) = scope.resolve_existing(path)?;
        if let Some(what) = content_kind::special(&metadata) {
            return Err(not_a_file(path, what, metadata.is_dir()));
        }
        let fail = |error: io::Error| self.fail(&error);
        let mut file = File::open(&real).map_err(fail)?;
        let mut start = Vec::with_capacity(SNIFFED);
        (&mut file)
            .take(SNIFFED as u64)
            .read_to_end(&mut start)
            .map_err(fail)?;
        let size = text::size(metadata.len());
        match content_kind::sniff(&start) {
            ContentKind::Image(media_type) => {
                let bytes = self.whole(start, file, self.options.image_bytes)?;
                let bytes = bytes.ok_or_else(|| too_big(path, &size, self.options.image_bytes))?;
                Ok(FileContents::Image { media_type, bytes })
            }
            ContentKind::Pdf => self.pdf(start, file, &size).map(FileContents::Text),
            ContentKind::Binary(what) => Err(binary(path, what, &size)),
            ContentKind::Text if is_named_as_notebook(path) && metadata.len() <= LARGEST_NOTEBOOK => {
                self.notebook(start, file).map(FileContents::Text)
            }
            ContentKind::Text => {
                let page = page(start, file, self.window, self.stop).map_err(fail)?;
                self.described(page).map(FileContents::Text)
            }
        }
    }

    fn fail(&self, error: &io::Error) -> ToolFailure {
        ToolFailure::failed(format!("{}: {}", self.path, explain(error)))
    }

    /// All of a file that begins with `start`; `None` if it has more than `most` bytes.
    fn whole(&self, mut start: Vec<u8>, file: File, most: u64) -> Result<Option<Vec<u8>>, ToolFailure> {
        // Together with the start, this exceeds the limit if the file is too large.
        let read = file.take(most).read_to_end(&mut start);
        read.map_err(|error| self.fail(&error))?;
        Ok((start.len() as u64 <= most).then_some(start))
    }

    fn pdf(&self, start: Vec<u8>, file: File, size: &str) -> Result<String, ToolFailure> {
        let (path, most) = (self.path, self.options.document_bytes);
        let Some(reader) = &self.options.documents else {
            return Err(binary(path, "a PDF document", size));
        };
        let bytes = self.whole(start, file, most)?.ok_or_else(|| {
            let most = text::size(most);
            let text = format!("{path} is a PDF document of {size}, more than the {most} that can be read.");
            ToolFailure::failed(text)
        })?;
        let read = reader.pdf_text(bytes, self.cancel);
        let text = read.map_err(|why| {
            ToolFailure::failed(format!(
                "{path} is a PDF document, and its text cannot be read: {why}."
            ))
        })?;
        self.lines_of(&text)
    }

    /// A notebook as Markdown. One that is broken is shown as the text that it is.
    fn notebook(&self, start: Vec<u8>, file: File) -> Result<String, ToolFailure> {
        let bytes = self.whole(start, file, LARGEST_NOTEBOOK)?.unwrap_or_default();
        match notebook_markdown(&bytes) {
            Ok(text) => {
                let note =
                    "[these lines are made from the notebook; to edit it, look at its JSON with bash]\n";
                Ok(self.lines_of(&text)? + note)
            }
            Err(_) => self.lines_of(&String::from_utf8_lossy(&bytes)),
        }
    }

    /// The lines of a text that are asked for.
    fn lines_of(&self, text: &str) -> Result<String, ToolFailure> {
        let mut pager = Pager::new(self.window);
        let whole = pager.feed(text.as_bytes());
        self.described(pager.finish(whole))
    }

    fn described(&self, page: PagedText) -> Result<String, ToolFailure> {
        let described = page.describe(self.window);
        described.map_err(|what| ToolFailure::failed(format!("{}: {what}", self.path)))
    }
}

fn not_a_file(path: &str, what: &str, directory: bool) -> ToolFailure {
    let hint = if directory {
        "; list it with glob (pattern \"*\") or bash"
    } else {
        ""
    };
    ToolFailure::failed(format!("{path} is {what}, not a file{hint}."))
}

fn binary(path: &str, what: &str, size: &str) -> ToolFailure {
    ToolFailure::failed(format!(
        "{path} ({size}) is {what}, not text; use bash to look inside."
    ))
}

/// The largest number of pixels that vendors accept per side of a picture:
/// <https://platform.claude.com/docs/en/build-with-claude/vision>, read 2026-11-22.
pub const LONGEST_PICTURE_SIDE: u32 = 8_000;

/// Returns the model that asks, if it is known that it takes no pictures.
fn blind(context: &ToolContext) -> Option<&str> {
    let config = context.journal.caller().config.as_deref()?;
    config
        .model
        .refuses(InputMedium::Image)
        .then_some(&*config.model.id)
}

/// Returns a picture that is nothing for the model: it would be refused with every later request, too.
fn unseen(path: &str, media_type: &str, bytes: usize, model: &str) -> ToolFailure {
    let size = text::size(bytes as u64);
    ToolFailure::failed(format!(
        "{path} is a picture ({media_type}, {size}), and {model} takes none: it cannot be shown to you. Use bash programs to \
         inspect it, or the user can choose a model that takes pictures."
    ))
}

fn too_big(path: &str, size: &str, most: u64) -> ToolFailure {
    let most = text::size(most);
    ToolFailure::failed(format!(
        "{path} is an image of {size}, more than the {most} that a model takes; make it smaller first."
    ))
}

fn page(start: Vec<u8>, mut file: File, window: Window, stop: &StopFlag) -> io::Result<PagedText> {
    let mut pager = Pager::new(window);
    let mut wanted = pager.feed(&start);
    let mut buffer = vec![0; 64 << 10];
    while wanted && !stop.due() {
        match file.read(&mut buffer)? {
            0 => return Ok(pager.finish(true)),
            read => wanted = pager.feed(&buffer[..read]),
        }
    }
    Ok(pager.finish(false))
}

async fn show_image(
    name: String,
    picture: Picture,
    bytes: Vec<u8>,
    blobs: &Arc<dyn BlobStore>,
) -> Result<ToolOutcome, ToolFailure> {
    let media_type = picture.media_type;
    if picture.longest_side() > LONGEST_PICTURE_SIDE {
        let (width, height) = (picture.width, picture.height);
        return Err(ToolFailure::failed(format!(
            "{name} has {width}x{height} pixels, and models take at most {LONGEST_PICTURE_SIDE} a side; make it smaller first."
        )));
    }
    let text = format!("{name}: {media_type}, {}", text::size(bytes.len() as u64));
    let details = json!({ "media_type": media_type, "bytes": bytes.len() });
    let blob = blobs
        .put_blob(bytes)
        .await
        .map_err(|error| ToolFailure::failed(format!("{name}: the image could not be kept: {error}")))?;
    let image = MediaPart {
        media_type: media_type.into(),
        source: MediaSource::Blob(blob),
        name: Some(name),
    };
    Ok(ToolOutcome {
        content: vec![ContentPart::text(text), ContentPart::Image(image)],
        status: ToolStatus::Success,
        details: Some(details),
    })
}

async fn read_blob(blob: &str, window: Window, context: &ToolContext) -> Result<ToolOutcome, ToolFailure> {
    const PIECE: u64 = 64 << 10;
    let id = BlobId::new(blob);
    let blob = head(blob, SHOWN_ID);
    let fail = |error| match error {
        LogError::NoBlob(_) => ToolFailure::failed(format!(
            "There is no kept output {blob} here. Give the id exactly as a result of this session named \
             it; the output of other sessions cannot be read."
        )),
        error => ToolFailure::failed(format!("The kept output {blob} cannot be read: {error}.")),
    };
    let size = context.blobs.blob_size(&id).await.map_err(fail)?;
    let mut pager = Pager::new(window);
    let mut at = 0;
    let mut wanted = true;
    while wanted && at < size {
        if context.cancel.is_cancelled() {
            return Err(ToolFailure::interrupted());
        }
        let piece = context
            .blobs
            .get_blob(&id, at..size.min(at + PIECE))
            .await
            .map_err(fail)?;
        if piece.is_empty() {
            break;
        }
        at += piece.len() as u64;
        wanted = pager.feed(&piece);
    }
    let page = pager
        .finish(at >= size)
        .describe(window)
        .map_err(|what| ToolFailure::failed(format!("{blob}: {what}")))?;
    Ok(ToolOutcome::success(page))
}
