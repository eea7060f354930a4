//! The behaviours that version 9 of the rules, the newest, introduced.

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

/// Sources of context are also asked about an input without text, such as a picture.
pub const INPUTS_WITHOUT_TEXT_HAVE_CONTEXT: u32 = 9;

/// No pattern covers files by which services of continuous integration run commands, hooks and settings of a
/// repository in any folder, and more files that tools run or agents read by themselves.
pub const FILES_OF_TOOLS_ARE_GUARDED: u32 = 9;

/// A request that another model refused changes nothing: the model that was chosen meanwhile is asked as
/// before.
pub const REFUSALS_OF_OTHERS_CHANGE_NOTHING: u32 = 9;

/// A command that removes the operating system or a home as a whole is refused.
pub const SYSTEM_IS_NEVER_REMOVED: u32 = 9;

/// The exchanges that condensing keeps take at most a third of the window that instructions and tools leave.
pub const KEPT_EXCHANGES_BOUNDED: u32 = 9;

/// The text of a command that another person ran stays between the quotes of its tag.
pub const COMMANDS_STAY_IN_THEIR_QUOTES: u32 = 9;

/// A partial answer loses its thinking if messages join the conversation before the call is repeated, or if
/// the beginning of requests has changed.
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

/// If an answer is cut off at its maximum length in the middle of a call, or is cut off and therefore does
/// not fit its schema, a note tells the model so. The run fails after three such answers in a row.
pub const CUT_OFF_IS_SAID: u32 = 9;

/// A refusal that names no window is followed by a shorter request for as long as the estimate can be raised.
pub const GUESSES_CONTINUE: u32 = 9;

/// A decision without words answers no question of the model: it is ignored, and the question stays open. It
/// counted as "yes".
pub const QUESTIONS_NEED_WORDS: u32 = 9;

/// The question of a tool is answered by those who may allow the call in which it came up. Before, anybody
/// who could approve something in the session could answer it.
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

/// No star stands for a Git remote that is a path, or is not known to lead to another machine: Git runs the
/// hooks of a repository that is pushed to.
pub const REMOTES_ARE_NAMED: u32 = 9;

/// Arguments of the machine's own tools (`ask_user`, `present_plan`, `recall`, `find_tools`) are checked like
/// those of the program's tools: one that is unknown or of another type is a mistake.
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

/// A count of tokens outside of an answer is paid: an attempt was lost before its answer began, while the
/// words of an earlier one stand.
pub const LOST_ATTEMPTS_COST: u32 = 9;

/// Blocks that only Anthropic's API reads are left out only where they are sent: after a refusal by another
/// API the same request was sent once more.
pub const BLOCKS_ARE_LEFT_OUT_WHERE_SENT: u32 = 9;

/// If a person wants a summary of a part that is too short for one, this is said without asking a model.
pub const TOO_LITTLE_IS_SAID: u32 = 9;

/// If a server refuses the reasoning of the next answer as well, or its blocks, later ones are left out at
/// once.
pub const REFUSED_KINDS_STAY_OUT: u32 = 9;

/// A window that was guessed from a refusal without a size grows while requests near it are answered, and a
/// line tells a person about both.
pub const GUESSED_WINDOWS_GROW: u32 = 9;

/// A rule that allows a command also allows it behind harmless wrappers and variables (`timeout 60 …`,
/// `RUST_LOG=debug …`), with its output to or its input from `/dev/null`, and with a pipe into programs that
/// only read it (`… | tail -20`).
pub const EVERYDAY_FORMS: u32 = 9;

/// In a rule that allows a command line, a star in the value of a variable in front (`PORT=* ./srv`) stands
/// for a part of one word: not for quotes, substitutions, further variables or a program.
pub const VALUES_ARE_ONE_WORD: u32 = 9;
/// A star matches only known options, subcommands and targets of build and test tools, and no path out of the
/// workspace.
pub const OPTIONS_OF_BUILD_TOOLS: u32 = 9;

/// A part of a line that only says something (`echo ok`, `true`) or goes to the workspace itself needs no
/// rule.
pub const SAYING_NEEDS_NO_RULE: u32 = 9;

/// A question that a new rule of a server closes is answered with that rule. Before, it read as the refusal
/// of a person.
pub const RULES_CLOSE_QUESTIONS: u32 = 9;

/// The reason names what stands in front of a command that a rule allows: `CI=1`, `env -i`, `cd sub`.
pub const FRONTS_ARE_NAMED: u32 = 9;

/// No star stands for a word that may become an option by the name of a file, except for programs that only
/// read; and a rule for the whole line does not cover one of a program with options that run or write
/// something.
pub const NAMES_BECOME_OPTIONS: u32 = 9;

/// A rule without an argument allows no line that writes a file which programs run by themselves.
pub const GUARDED_FILES_ARE_NAMED: u32 = 9;

/// Three counts that are alike, and cannot be those of new tokens alone, show that a server cuts requests.
pub const EQUAL_COUNTS_ARE_SIGNS: u32 = 9;

/// A count after a summary that is like those before it is one of the three, too.
pub const COUNTS_OUTLIVE_CONDENSING: u32 = 9;

/// The tool `wait` suspends a run until a time: the log has that time, and the time of the wait counts
/// against no limit.
pub const WAITS_ARE_FACTS: u32 = 9;

/// Calls of a model are booked under the name with its provider.
pub const BOOKS_NAME_PROVIDERS: u32 = 9;

/// A call that waits for answers of a person outside of its server (`input_required` of MCP) is continued by
/// the next program. Before, its outcome was unknown then.
pub const SUSPENDED_CALLS_CONTINUE: u32 = 9;

/// Rules may apply only after text from the web has entered the conversation (`origin: web`).
pub const WEB_TEXT_IS_SEEN: u32 = 9;

/// "Always" keeps a tool of an MCP server with any arguments, for as long as its server describes it as it
/// does now. Before, it kept the exact arguments, so that nearly every call led to a question.
pub const SERVER_TOOLS_ARE_KEPT_WHOLE: u32 = 9;

/// Analyzers that the configuration names assess the risk of a call before it is decided.
pub const RISK_IS_ASSESSED: u32 = 9;

/// A run that reaches a limit of rounds, tokens or cost asks a person before it ends, if its agent is set so.
pub const LIMITS_ASK: u32 = 9;

/// A model is told after each round of tools what is left of a budget of tokens, money or time, if that is at
/// most a fifth.
pub const BUDGETS_LEFT_ARE_TOLD: u32 = 9;

/// Rules about `bash` apply to command lines of `shell`, which runs them in a shell that stays.
pub const SHELL_TAKES_RULES_OF_BASH: u32 = 9;

/// Agents that need no file (`general`, `explore`) may be made with `delegate`; they follow the model, the
/// mode, the rules and the tools of the agent that made them.
pub const BUILT_IN_AGENTS: u32 = 9;

/// Pictures that tools returned earlier are left out before a full window is condensed; the newest stays.
pub const OLD_PICTURES_GO_FIRST: u32 = 9;

/// A question names every grant of the tool's file, also models, key spaces and agents; and a rule about
/// hosts does not allow a tool that also creates agents.
pub const ALL_GRANTS_ARE_SAID: u32 = 9;

/// A judge allows no command line that names a file outside of the workspace, or one that programs run or
/// agents read by themselves, nor a line whose files cannot be known. Before, only the path of a tool
/// counted.
pub const JUDGES_SEE_FILES_OF_LINES: u32 = 9;

/// `~/` in the path of a rule also means the home directory that the configuration names, and a rule that
/// allows a path below `~/` applies to it.
pub const HOMES_ARE_KNOWN: u32 = 9;

/// No star stands for the name of a setting that `git config` writes, except for known ones that run nothing.
pub const SETTINGS_OF_GIT_ARE_NAMED: u32 = 9;

/// The reason of a run that fails because its latest message alone does not fit says so.
pub const LARGE_INPUTS_ARE_NAMED: u32 = 9;

/// A part of the conversation that a refusal names by its place is replaced by words; and if no plainer form
/// helps, the messages that followed the last accepted request are.
pub const REFUSED_PARTS_ARE_REPLACED: u32 = 9;

/// A name that begins with a variable, a substitution or `~1` also counts as each name that it becomes by a
/// value of the line, and as a file of AgentX itself if it names the end of its path.
pub const UNKNOWN_BEGINNINGS: u32 = 9;

/// Text that is typed into a program of a shell that stays (`shell_input`) is also read as a command line:
/// rules about `bash` and `shell` that deny or ask, and the guards of files, apply to it.
pub const TYPED_TEXT_IS_READ_AS_A_LINE: u32 = 9;

/// Cache points and the two forms of Claude's `thinking` are left out at Converse too, if it refuses them.
pub const CONVERSE_SETTINGS_ARE_LEFT_OUT: u32 = 9;

/// After a number of inputs a model is asked what to remember of them, if the agent is set so.
pub const MEMORIES_ARE_PROPOSED: u32 = 9;

/// The tool `remind_me` sets a reminder: the log has its time, and a run begins once when it is due.
pub const REMINDERS_ARE_FACTS: u32 = 9;

/// The schema of a run's answer counts as part of the beginning of requests: thinking that was made beside
/// another one is left out.
pub const SCHEMAS_BEGIN_REQUESTS: u32 = 9;

/// In a line with commands that rules allow, a part that alone would run without a question, because it only
/// reads the workspace, needs no rule.
pub const READING_NEEDS_NO_RULE: u32 = 9;

/// The refusal of a line that only may name the program's own files, by a star or an unknown part, says so.
/// Before, it named them as files that the line opens.
pub const UNCLEAR_OWN_NAMES_ARE_EXPLAINED: u32 = 9;

/// The reason of a question about a command of Git says that Git follows the repository. Before, it said that
/// Git runs what the repository names, also of a setting that runs nothing.
pub const SETTINGS_OF_REPOSITORIES_ARE_FOLLOWED: u32 = 9;

/// Words of people other than the owner keep the approval mode of the time at which they came: a mode that
/// asks less, set later by somebody else, does not cover the run that takes them up.
pub const WORDS_KEEP_THEIR_MODE: u32 = 9;

/// Tags of authors are also removed from texts of others if invisible characters interrupt them.
pub const INTERRUPTED_TAGS_ARE_REMOVED: u32 = 9;

/// The `error` of a failed attempt names the HTTP status of the server's answer.
pub const ERRORS_NAME_THEIR_STATUS: u32 = 9;
