//! The versions of the rules by which an agent decides, and the changes of each.
//!
//! A session keeps the version in its configuration (`rules_version`), so that a replay decides as the live
//! session did. Each later behaviour has a constant here, with which code compares the version:
//! `config.rules_version >= since::FULL_IS_KNOWN`. A released version never changes; a new behaviour gets the
//! next number.

mod version_9;

pub use version_9::*;

/// The version of new sessions, and of sessions that a program continues; older logs are replayed with their
/// own version.
pub const RULES_VERSION: u32 = 9;

/// More ways to hide a command lead to a question, if a rule asks about commands or denies them.
pub const HIDDEN_COMMANDS_ASKED: u32 = 1;

/// No pattern covers files that programs run by themselves: hooks, start files of shells.
pub const GUARDED_FILES: u32 = 1;

/// "Always" keeps no more than was seen, and in its project.
pub const KEPT_AS_SEEN: u32 = 1;

/// If all stars of a rule stand for paths below a folder, the rule covers no other word of the command.
pub const PLACES_ARE_NAMED: u32 = 1;

/// Calls in an answer that the model declined are not run, and the run fails.
pub const DECLINED_CALLS_ARE_NOT_RUN: u32 = 2;

/// A request with only text that is refused for its size in bytes is sent again with less.
pub const LARGE_TEXT_IS_TOO_MUCH: u32 = 2;

/// Optional settings are left out for any API whose refusal names them.
pub const NAMED_EXTRAS: u32 = 2;

/// A request that is refused without a word about why is repaired by its roles, too.
pub const ROLES_ARE_REPAIRED: u32 = 2;

/// A star of a rule stands for no variable of a shell.
pub const VARIABLES_ARE_NAMED: u32 = 3;

/// No pattern covers files that agents take for instructions.
pub const INSTRUCTIONS_ARE_GUARDED: u32 = 3;

/// Rules may name the hosts of a tool.
pub const RULES_NAME_HOSTS: u32 = 3;

/// If the counts of a server show that it cuts requests, its window is smaller than assumed.
pub const CUTS_ARE_NOTICED: u32 = 4;

/// The window that a refusal names is compared with the whole window that was assumed.
pub const WINDOWS_ARE_COMPARED_WHOLE: u32 = 4;

/// Results of tools are shortened after an overflow.
pub const RESULTS_ARE_SHORTENED: u32 = 4;

/// Limits of tokens and money are checked before a model call is retried.
pub const LIMITS_BETWEEN_ATTEMPTS: u32 = 5;

/// Results of tools are shortened before a request that is larger than a known window is sent.
pub const NEW_RESULTS_ARE_SHORTENED: u32 = 5;

/// An exchange that the model declined is left out of later requests.
pub const DECLINED_IS_LEFT_OUT: u32 = 5;

/// A request that is refused for its bytes teaches how much fits.
pub const BYTES_TEACH_THE_WINDOW: u32 = 5;

/// An event records that less is sent.
pub const LESS_IS_SAID: u32 = 5;

/// The counts of a server are compared across changes of settings that no request shows.
pub const COUNTS_OUTLIVE_CHANGES: u32 = 5;

/// A refused maximum length of the answer is requested in the provider's form.
pub const LONGEST_ANSWER_IS_REPAIRED: u32 = 5;

/// Rules by path and the guard of files with secrets see through globs, braces, `cd`, `xargs` and code in a
/// command line; if another program may run a command that a rule is about, this leads to a question.
pub const PATH_RULES_SEE_COMMAND_LINES: u32 = 5;

/// Commands that change this program's settings lead to a question regardless of the rules.
pub const OWN_SETTINGS_ARE_ASKED_ABOUT: u32 = 5;

/// A star of a rule stands for no words that make a command more dangerous: `git *` does not allow `git push
/// --force`.
pub const GRAVE_WORDS_ARE_NAMED: u32 = 5;

/// A model that stops because its window is full teaches how much fits.
pub const FULL_WINDOWS_TEACH: u32 = 6;

/// If the summary after an overflow fails, the next request sends fewer messages.
pub const LESS_WITHOUT_A_SUMMARY: u32 = 6;

/// An input that never fits is left out of later requests.
pub const UNFIT_INPUTS_ARE_LEFT_OUT: u32 = 6;

/// A count of uncached tokens is not mistaken for a window, nor is any count of a model that costs money.
pub const UNCACHED_COUNTS_IGNORED: u32 = 6;

/// If a server refuses several pictures, the newest is left out first.
pub const NEWEST_PICTURE_FIRST: u32 = 6;

/// An agent that another agent creates is bound by its creator's current approval mode and rules that deny or
/// ask.
pub const CHILDREN_INHERIT_RESTRICTIONS: u32 = 6;

/// A refusal names the approval mode or a read-only folder, and the result of a call that was stopped before
/// it was allowed says that it did not run.
pub const REFUSALS_SAY_WHY: u32 = 6;

/// A window that was guessed from a refusal without a size is forgotten if the run ends before a model has
/// answered. A small request that is refused for its size in bytes is not made smaller.
pub const GUESSES_ARE_TAKEN_BACK: u32 = 6;

/// An input without content after an unanswered one asks that again.
pub const EMPTY_INPUT_ASKS_AGAIN: u32 = 6;

/// If the `approval` of an agent becomes stricter, so does that of the agents below it.
pub const MODES_REACH_BELOW: u32 = 6;

/// A rule without a star allows no command behind a pipe.
pub const FED_COMMANDS_NEED_A_STAR: u32 = 6;

/// Commands of this program are found in scripts, texts and other spellings.
pub const OWN_PROGRAM_IN_DISGUISE: u32 = 6;

/// If no person is asked, a command line that hides something from a rule that denies is refused.
pub const HIDDEN_IS_REFUSED: u32 = 6;

/// In a rule for `git status`, a star stands for no option that shows the contents of files.
pub const STATUS_SHOWS_FILES: u32 = 6;

/// A question names the access that the file of its tool grants, also if a rule asks it.
pub const REACH_IS_SAID: u32 = 7;

/// When rules that deny or ask, the guard or the version of an agent change, they change at once for the
/// agents below it. An agent that a script creates is bound by the current ones.
pub const RULES_REACH_BELOW: u32 = 7;

/// A rule that comes after a question and denies the call holds when the question is answered.
pub const DENIED_MEANWHILE: u32 = 7;

/// If a rule denies or asks, a command that gets input leads to a question, unless its program is known to
/// treat input as data.
pub const INPUT_MAY_RUN: u32 = 7;

/// Short options of a rule that denies or asks count in any order and grouping.
pub const OPTIONS_IN_ANY_ORDER: u32 = 7;

/// A run fails if the model declines to answer.
pub const DECLINED_RUNS_FAIL: u32 = 7;

/// A request that is refused without a reason is sent once more before it is changed, and all changes that
/// were in vain are taken back.
pub const SENT_AGAIN_UNCHANGED: u32 = 7;

/// Pictures are left out only for the model that refused them.
pub const PICTURES_BY_MODEL: u32 = 7;

/// The run does not wait for a summary without which the conversation fits, and requests none in the rounds
/// after a failure.
pub const SUMMARIES_REST: u32 = 7;

/// The maximum length of an answer is what fits beside a request that was refused.
pub const SHORTER_ANSWERS: u32 = 7;

/// A carriage return is part of a word, as to a shell.
pub const CARRIAGE_RETURNS_ARE_WORDS: u32 = 7;

/// In the mode `auto` rules that ask, and files with secrets, are asked about.
pub const AUTO_ASKS: u32 = 7;

/// A question names the part of the call that the nearest rule does not cover.
pub const GAPS_ARE_NAMED: u32 = 7;

/// More files count among those that programs run by themselves and those that are instructions.
pub const MORE_GUARDED_FILES: u32 = 7;

/// At most half of the window that instructions and tools leave is kept free for the answer, and the maximum
/// length of an answer is what fits beside the input.
pub const ANSWERS_FIT: u32 = 8;

/// A single setting that a provider refuses by name is left out or sent under another name, and so are parts
/// of answers that only their provider reads.
pub const SETTINGS_ARE_LEFT_OUT: u32 = 8;

/// Parts that were left out, and that no answer has confirmed, are sent to another model.
pub const OTHER_MODELS_ARE_ASKED_ANEW: u32 = 8;

/// A fork tells its model that an unfinished call runs in the original, not that the program stopped.
pub const COPIES_LEAVE_CALLS: u32 = 8;

/// A rule about files that `read` opens also applies to command lines.
pub const READING_RULES_HOLD_FOR_LINES: u32 = 8;

/// The reason of a run names a word with which the answer ended and that is not known.
pub const UNKNOWN_ENDS_ARE_SAID: u32 = 8;
