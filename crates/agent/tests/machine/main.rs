//! The agent machine from outside: facts in, outputs and actions out, through a harness that simulates the
//! rest of the system.

#[cfg(test)]
mod addresses;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod assessing;
mod built_context;
#[cfg(test)]
mod condensing;
#[cfg(test)]
mod condensing_histories;
#[cfg(test)]
mod context;
#[cfg(test)]
mod counted;
#[cfg(test)]
mod cut;
mod cut_off;
#[cfg(test)]
mod decisions;
mod everyday_forms;
#[cfg(test)]
mod facts;
mod fallbacks;
#[cfg(test)]
mod full_window;
#[cfg(test)]
mod git;
#[cfg(test)]
mod given;
#[cfg(test)]
mod guesses;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod hidden;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod homes;
#[cfg(test)]
mod injection;
#[cfg(test)]
mod learning;
mod limit_questions;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod messages;
mod model_switch;
mod modes_of_words;
#[cfg(test)]
mod of_file;
mod of_server;
mod option_words;
#[cfg(test)]
mod overflow;
#[cfg(test)]
mod own_files;
#[cfg(test)]
mod own_program;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod plan_mode;
mod questions;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod refused_place;
#[cfg(test)]
mod refused_tools;
#[cfg(test)]
mod reminders;
mod repair;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod service_context;
#[cfg(test)]
mod settings;
mod signatures;
#[cfg(test)]
mod small_window;
mod spellings;
#[cfg(test)]
mod stays;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod stray;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod stuck;
#[cfg(test)]
mod tool_search;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod typed;
mod unasked;
mod uncovered;
#[cfg(test)]
mod unknown_outcome;
mod unread;
#[cfg(test)]
mod waits;
#[cfg(test)]
mod web_text;
