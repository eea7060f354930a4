//! The versions of the rules by which an agent decides, and the changes of each.
//!
//! A session keeps the version in its configuration (`rules_version`), so that a replay decides as the live
//! session did. Each later behaviour has a constant here, with which code compares the version:
//! `config.rules_version >= since::FULL_IS_KNOWN`. A released version never changes; a new behaviour gets the
//! next number.

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

/// After a declined answer, later requests leave out the whole turn of its input; after a further refusal
/// also the messages before it. A note lists the calls that ran in the turn.
pub const DECLINED_TURNS_REMOVED: u32 = 9;

/// Tools of MCP servers are found by searching if an API does not accept that many tools.
pub const TOO_MANY_TOOLS_ARE_SEARCHED: u32 = 9;

/// Thinking whose lack another server of Anthropic's API refuses is sent back.
pub const MISSING_THINKING_IS_SENT: u32 = 9;

/// The number of tools that Gemini takes counts as that of OpenAI does, and is read from its refusal.
pub const TOO_MANY_DECLARATIONS_ARE_COUNTED: u32 = 9;

/// A refusal of Anthropic without a word or a call costs nothing.
pub const EMPTY_REFUSALS_ARE_FREE: u32 = 9;

/// An answer that was in progress when the program died is booked as an estimate.
pub const DEAD_ANSWERS_ARE_ESTIMATED: u32 = 9;

/// Tokens whose price is unknown are counted separately from the cost.
pub const UNPRICED_IS_COUNTED: u32 = 9;

/// A fallback that answered what another model declined keeps answering as long as that input is in the
/// conversation.
pub const FALLBACKS_STAY_FOR_DECLINED: u32 = 9;

/// A conversation that filled the window is condensed before the next request however small it is estimated
/// to be.
pub const FULL_IS_KNOWN: u32 = 9;

/// A run ends after 8 paused answers in a row.
pub const PAUSES_END: u32 = 9;

/// The text of a run is only that of its last answer, even if that is empty.
pub const LAST_ANSWER_ALONE: u32 = 9;

/// Agents in the background are stopped with a run that a limit or a refusal ends.
pub const BACKGROUND_STOPS: u32 = 9;

/// An argument of only stars counts as naming the program's own files if it matches them.
pub const STARS_MATCH_OWN_FILES: u32 = 9;

/// In a rule for Git, a star stands only for known subcommands. Others ask for passwords, print them, run
/// programs, or are programs and aliases of the user.
pub const KNOWN_TO_GIT: u32 = 9;

/// No star stands for words by which Git or `man` show a manual: Git runs the viewer that a repository
/// configures (`help.browser`, `man.NAME.cmd`), and `man` any viewer that its options name.
pub const MANUALS_ARE_NAMED: u32 = 9;

/// No star stands for options by which a reading program writes, sends or runs something.
pub const OPTIONS_OF_READERS: u32 = 9;

/// Long options in a rule that denies or asks also match in shortened form and at any position.
pub const SHORTENED_OPTIONS: u32 = 9;

/// A star over Git does not cover options that continue an unfinished operation, because that operation may
/// name programs to run.
pub const CONTINUED_OPERATIONS: u32 = 9;

/// A line with very many commands is not compared with rules about a part of it.
pub const LINES_ARE_BOUNDED: u32 = 9;

/// The parser reads the parts that bash expands a second time: subscripts, targets of `>&`, `${…}` within
/// `${…}`. It also reads folders that options of a command name, and variables that decide which program runs
/// or where a path leads (`PATH`, `HOME`).
pub const EXPANDED_TWICE: u32 = 9;

/// A rule with a workspace allows no part of a line that goes out of it.
pub const LEFT_FOLDERS: u32 = 9;

/// A router fails if its model declines to sort an input.
pub const DECLINED_SORTING_FAILS: u32 = 9;

/// A router looks at its limits before its model call is tried again.
pub const LIMITS_BETWEEN_SORTINGS: u32 = 9;

/// Kana and the marks behind them are composed as Unicode does, if an input is compared with patterns.
pub const KANA_ARE_COMPOSED: u32 = 9;

/// `recall` is named among the tools, and decided about anew while a call of it waits.
pub const RECALL_IS_A_TOOL: u32 = 9;

/// The count stays valid if parts are left out of a request: the next request asks for no longer answer.
pub const COUNTS_OUTLIVE_REPAIRS: u32 = 9;

/// Reasoning of Chat Completions, and data attached to texts and calls, is left out once a provider refuses
/// it.
pub const REASONING_IS_LEFT_OUT: u32 = 9;

/// Thinking after blank text of the same answer is not sent back, because it is bound to that text, which is
/// never sent.
pub const NOT_BEHIND_BLANKS: u32 = 9;

/// Instructions without a path describe the agent's environment; the offline demo does not get them.
pub const ENVIRONMENT_IS_TOLD: u32 = 9;

/// Thinking names its model if its API attaches nothing to it.
pub const REASONING_IS_MARKED: u32 = 9;

/// A refusal and a note of another person than the owner name that person, and hold no tags that mark words.
pub const REFUSALS_NAME_OTHERS: u32 = 9;

/// In a transcript for a model, continuation lines of a message are indented, so that no message can imitate
/// the line of another one.
pub const TRANSCRIPTS_ARE_INDENTED: u32 = 9;

/// A run that an input of another person than the owner interrupts names that person.
pub const INPUTS_NAME_WHO_INTERRUPTS: u32 = 9;

/// A command that acts on a folder with everything in it counts as opening the guarded files in it, and the
/// files of rules by path.
pub const WHOLE_FOLDERS_ARE_OPENED: u32 = 9;

/// If a command writes the files that it names, no star stands for a file that programs run by themselves.
pub const WRITTEN_FILES_ARE_NAMED: u32 = 9;

/// A tool that a refusal of a schema names without quotes is left out.
pub const REFUSED_TOOLS_ARE_NAMED_BY_WORD: u32 = 9;

/// No pattern covers files by which services of continuous integration run commands, nor hooks of a bare
/// repository.
pub const CI_FILES_ARE_GUARDED: u32 = 9;

/// A request that another model refused changes nothing: the model that was chosen meanwhile is asked as
/// before.
pub const REFUSALS_OF_OTHERS_CHANGE_NOTHING: u32 = 9;

/// A command that removes the operating system or a home as a whole is refused.
pub const SYSTEM_IS_NEVER_REMOVED: u32 = 9;

/// The exchanges that condensing keeps take at most a third of the window that instructions and tools leave.
pub const KEPT_EXCHANGES_BOUNDED: u32 = 9;

/// The text of a command that another person ran stays between the quotes of its tag.
pub const COMMANDS_STAY_IN_THEIR_QUOTES: u32 = 9;

/// A partial answer loses its thinking if messages join the conversation before the call is repeated.
pub const PARTIAL_THINKING_IS_UNBOUND: u32 = 9;

/// If nobody can be asked, a command that acts on a whole folder around the program's own files is refused.
pub const OWN_FILES_ARE_NEVER_TAKEN: u32 = 9;

/// If a provider refuses the number of pictures, the newest are sent, as many as it takes.
pub const PICTURES_ARE_COUNTED: u32 = 9;

/// Hosts of rules and of tools are compared in the form that the URL standard gives them.
pub const HOSTS_HAVE_ONE_FORM: u32 = 9;

/// A call "needs your approval", and a refusal names the reason why nobody can be asked: no terminal, or the
/// mode `deny`.
pub const APPROVAL_IS_NAMED: u32 = 9;

/// The model is told that its answer was cut off at its maximum length in the middle of a call, or that the
/// answer does not fit its schema because it was cut off. The run fails after three such answers in a row.
pub const CUT_OFF_IS_SAID: u32 = 9;

/// A refusal that names no window is followed by a shorter request for as long as the estimate can be raised.
pub const GUESSES_CONTINUE: u32 = 9;

/// A decision without words answers no question of the model: it is ignored, and the question stays open. It
/// counted as "yes".
pub const QUESTIONS_NEED_WORDS: u32 = 9;

/// The question of a tool is answered by those who may allow the call that it came up in. Before, whoever
/// might approve anything in the session could answer it.
pub const ANSWERS_ARE_OF_WHO_MAY_ALLOW: u32 = 9;

/// If the retry with calls in plain text is also refused, later calls stay in plain text.
pub const REFUSED_CALLS_STAY_IN_WORDS: u32 = 9;

/// "Always" keeps a star only if that rule covers the call: `git status -v` is kept word for word.
pub const KEPT_STARS_COVER: u32 = 9;

/// A rule about files that `read` opens also applies to other tools that read one: `query`.
pub const READING_RULES_HOLD_FOR_READERS: u32 = 9;

/// A summary that is undone shows all that it replaced, also if the window has slid past it since.
pub const UNDONE_SUMMARIES_SHOW_ALL: u32 = 9;

/// A rule in the reason of a decision is one line of at most about 160 characters.
pub const REASONS_CUT_RULES: u32 = 9;

/// No star stands for a Git remote that is a path, or is not known to lead to another machine: Git runs the hooks of
/// a repository that is pushed to.
pub const REMOTES_ARE_NAMED: u32 = 9;

/// Arguments of the machine's own tools (`ask_user`, `present_plan`, `recall`, `find_tools`) are checked like those of
/// the program's tools: one that is unknown or of another type is a mistake.
pub const OWN_ARGUMENTS_ARE_CHECKED: u32 = 9;

/// A call costs what the provider reports, if that is more than its tokens at the prices of the model.
pub const REPORTED_COSTS_COUNT: u32 = 9;

/// A question about a member's call says that approvers of the server may allow it, too.
pub const APPROVERS_ARE_NAMED: u32 = 9;

/// The duration of a turn leaves out the time in which the run waited for the answer of a person.
pub const WAITING_IS_NOT_WORK: u32 = 9;

/// The reason of a run that a model declined repeats the explanation of its vendor.
pub const REFUSALS_ARE_EXPLAINED: u32 = 9;

/// A request that a server refuses with an HTTP 500 each time is changed at once, as it need not be sent
/// unchanged once more.
pub const REPEATED_REFUSALS_ARE_REPAIRED: u32 = 9;

/// If a person wants a summary of a part that is too short for one, this is said without asking a model.
pub const TOO_LITTLE_IS_SAID: u32 = 9;

/// If a server refuses the reasoning of the next answer as well, or its blocks, later ones are left out at once.
pub const REFUSED_KINDS_STAY_OUT: u32 = 9;

/// A window that was guessed from a refusal without a size grows while requests near it are answered, and a line
/// tells a person about both.
pub const GUESSED_WINDOWS_GROW: u32 = 9;

/// A rule that allows a command also allows it behind harmless wrappers and variables (`timeout 60 …`, `RUST_LOG=debug
/// …`), with its output to or its input from `/dev/null`, and with a pipe into programs that only read it (`… | tail -20`).
pub const EVERYDAY_FORMS: u32 = 9;
