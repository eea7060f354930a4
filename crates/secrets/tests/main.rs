//! Secrets that the redactor finds, texts that it leaves alone, and the equality of results for pieces and
//! for the whole text.

mod forms;
mod pieces;
