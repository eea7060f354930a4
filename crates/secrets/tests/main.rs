//! What the redactor finds, what it leaves alone, and that pieces give the same text as the whole.

mod forms;
mod pieces;
