//! Reads uploaded files.

use bytes::Bytes;
use http_body_util::{BodyDataStream, Full};
use jiff::Timestamp;
use multer::Multipart;

use super::store::File;
use crate::wire::ApiError;

/// The file of a form with the fields `purpose` and `file`.
///
/// # Errors
/// Status 400 when it is no such form.
pub(crate) async fn read(content_type: &str, body: Bytes) -> Result<File, ApiError> {
    let unreadable =
        |error: multer::Error| ApiError::invalid(format!("The form cannot be read: {error}"));
    let boundary = multer::parse_boundary(content_type).map_err(unreadable)?;
    let mut form = Multipart::new(BodyDataStream::new(Full::new(body)), boundary);
    let (mut purpose, mut file) = (None, None);
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        match field.name() {
            Some("purpose") => purpose = Some(field.text().await.map_err(unreadable)?),
            Some("file") => {
                let name = field.file_name().unwrap_or("upload").to_owned();
                file = Some((name, field.bytes().await.map_err(unreadable)?));
            }
            _ => {}
        }
    }
    let missing = |name: &'static str| {
        ApiError::invalid(format!("Missing required parameter: '{name}'."))
            .param(name)
            .code("missing_required_parameter")
    };
    let purpose = purpose.ok_or_else(|| missing("purpose"))?;
    let (name, content) = file.ok_or_else(|| missing("file"))?;
    if purpose != "batch" {
        let message = format!("'{purpose}' is not a supported purpose here; use 'batch'.");
        return Err(ApiError::invalid(message).param("purpose"));
    }
    Ok(File {
        name,
        purpose,
        created: Timestamp::now(),
        content,
    })
}
