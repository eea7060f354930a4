//! Small PDFs, so that tests need no external files.

/// Returns a PDF of one page with these words, which may hold no brackets.
///
/// ```
/// assert!(agentx_testing::pdf_of("Words").starts_with(b"%PDF-1.4"));
/// ```
pub fn pdf_of(words: &str) -> Vec<u8> {
    pdf_with_content(format!("BT /F1 12 Tf 72 720 Td ({words}) Tj ET").as_bytes(), "")
}

/// Returns a PDF of one page whose content is this stream; `filter` says how it is packed:
/// ` /Filter /FlateDecode`, or nothing.
pub fn pdf_with_content(content: &[u8], filter: &str) -> Vec<u8> {
    let stream = format!("<< /Length {}{filter} >>\nstream\n", content.len());
    let objects: [&[&[u8]]; 5] = [
        &[b"<< /Type /Catalog /Pages 2 0 R >>"],
        &[b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"],
        &[
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
            /Resources << /Font << /F1 5 0 R >> >> >>",
        ],
        &[stream.as_bytes(), content, b"\nendstream"],
        &[b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"],
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (index, parts) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n", index + 1).as_bytes());
        file.extend(parts.concat());
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    file.extend(b"xref\n0 6\n0000000000 65535 f \n");
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").as_bytes());
    }
    file.extend(format!("trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").as_bytes());
    file
}
