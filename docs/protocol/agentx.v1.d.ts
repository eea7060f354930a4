// The frames of AgentX, version 1, as TypeScript types. Generated from the Rust types; docs/PROTOCOL.md says
// what they mean. A newer server may send tags, fields and words that are not here: a reader ignores them.

/** A frame of a client. */
export type ClientFrame = { id: string } & (
  | { type: "authenticate"; payload: Authenticate }
  | { type: "user_message"; payload: UserInputFrame }
  | { type: "system_command"; payload: CommandFrame }
  | { type: "approval"; payload: ApprovalFrame }
  | { type: "interrupt"; payload: InterruptFrame }
  | { type: "subscribe"; payload: Subscribe }
  | { type: "unsubscribe"; payload: Unsubscribe }
  | { type: "wheel"; payload: WheelFrame }
  | { type: "ping"; payload?: Ping }
);

/** Identifies the client, once, before anything else. */
export interface Authenticate {
  /** `ed25519:` and the key's 32 bytes in base64url; absent for a visitor. */
  public_key?: string | null;
  /** The signature over the server's challenge, base64url; absent for a visitor. */
  signature?: string | null;
  /** The program's name for itself; the same after a reconnect. At most 64 characters. */
  client: string;
}

/** Sends an input to the agent. */
export interface UserInputFrame {
  /** The session. */
  session_id: SessionId;
  /** The content parts, or a text. */
  content: string | ContentPart[];
  /** The time at which the agent handles it. */
  mode?: InputMode;
  /** Identifies the message: one that is sent again with the same key is not recorded twice. */
  idempotency_key?: string | null;
  /** The time of the input by the client's clock: ISO 8601, UTC. The model reads it. */
  client_timestamp_utc?: string | null;
  /**
   * The client's time zone: UTC minus local time, in minutes, as JavaScript's `getTimezoneOffset`
   * returns it.
   */
  client_timezone_offset?: number | null;
  /** The wheel that the client believes it holds. */
  wheel_epoch?: number | null;
  /** The schema of the answer, if it opens a run. */
  answer_schema?: AnswerSchema | null;
}

/** A durable log: owner, agents, runs. */
export type SessionId = string;

/** A part of a message. */
export type ContentPart =
  | TextPart & { type: "text" }
  | MediaPart & { type: "image" }
  | MediaPart & { type: "audio" }
  | MediaPart & { type: "file" }
  | ThinkingPart & { type: "thinking" }
  | ToolCallPart & { type: "tool_call" }
  | ToolResultPart & { type: "tool_result" }
  | OpaquePart & { type: "opaque" };

/** Data of one provider, kept verbatim: sent back to the same provider, left out for any other. */
export interface ProviderData {
  /** The API that it belongs to, for example `anthropic`. */
  api: string;
  /** The model whose answer contained it, if that is known. */
  model?: string | null;
  /** The data as it arrived. */
  data: unknown;
}

/** Words. */
export interface TextPart {
  /** The words. */
  text: string;
  /** Data that the provider attached (citations) and needs back. */
  provider?: ProviderData | null;
}

/** The location of a medium's bytes. */
export type MediaSource =
  | { blob: BlobId }
  | { base64: string }
  | { url: string };

/** A content-addressed blob: `b3_` and the BLAKE3 hash of its bytes in hexadecimal. */
export type BlobId = string;

/** Bytes of a medium, by reference or inline. */
export interface MediaPart {
  /** The media type, for example `image/png`. */
  media_type: string;
  /** The location of the bytes. */
  source: MediaSource;
  /** A file name to show, if there is one. */
  name?: string | null;
}

/** The model's reasoning. */
export interface ThinkingPart {
  /** The words; may be empty if the provider hides them. */
  text: string;
  /** Data that the provider attached (a signature) and needs back. */
  provider?: ProviderData | null;
}

/** A call of a tool, as the model named it. */
export type ToolCallId = string;

/** The model asks for a tool. */
export interface ToolCallPart {
  /** The model's name for this call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments; `{}` if there were none. */
  input: unknown;
  /** Data that the provider attached and needs back. */
  provider?: ProviderData | null;
}

/** The result of a tool call. */
export interface ToolResultPart {
  /** The call that this answers. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The answer: text and media parts. */
  content: ContentPart[];
  /** Whether the model should read it as a failure. */
  is_error: boolean;
}

/** A part that only its provider understands. */
export interface OpaquePart {
  /** The whole block as it came. */
  provider: ProviderData;
}

/** The time at which the agent handles an input. */
export type InputMode = "queue" | "steer" | "interrupt";

/** The schema of the answer that ends a run. */
export interface AnswerSchema {
  /** The JSON Schema (2020-12 unless it names another version). */
  schema: unknown;
  /**
   * Maximum number of times in one run that the model is asked again because its answer does not fit: at
   * most [`MAX_ANSWER_REPAIRS`]. The default is 2.
   */
  repairs?: number;
}

/** Gives the system a command: `rename`, `change`, `revise`, `share`. */
export interface CommandFrame {
  /** The session. */
  session_id: SessionId;
  /** The command's name. */
  command: string;
  /** The arguments. */
  args?: unknown;
  /** The wheel that the client believes it holds. */
  wheel_epoch?: number | null;
  /** Identifies the request: one that is sent again with the same key is not carried out twice. */
  idempotency_key?: string | null;
}

/** Decides about a tool call. */
export interface ApprovalFrame {
  /** The session. */
  session_id: SessionId;
  /** The call. */
  tool_call_id: ToolCallId;
  /** The decision. */
  decision: ApprovalDecision;
  /** A word to the model. */
  note?: string | null;
  /** For `session` and `always`: the rule to keep; by default the one that was suggested. */
  rule?: Rule | null;
}

/** The decision of a person about a tool call. */
export type ApprovalDecision = "once" | "session" | "always" | "deny";

/** An approval rule. A field that is `None` matches everything. */
export interface Rule {
  /** The effect. */
  effect: RuleEffect;
  /**
   * The tool's name; `*` stands for any run of characters. `NAME@HASH` is a tool of a folder's file as
   * long as the file does not change ([`crate::ToolReach::file`]).
   */
  tool: string;
  /**
   * The command line (for tools that run programs) or the whole arguments as JSON; `*` stands for any run
   * of characters. A command line of several commands is allowed only if each of them is.
   */
  argument?: string | null;
  /** The path that the call names, absolute or relative to the workspace; `*` stops at `/`, `**` does not. */
  path?: string | null;
  /**
   * The absolute directory in which and below which the rule applies; a relative `path` begins there.
   * `None` means everywhere.
   */
  workspace?: string | null;
  /** The rule applies only after text of this origin has entered the conversation; `None` means always. */
  origin?: TextOrigin | null;
}

/** The effect of a rule on a call. */
export type RuleEffect = "allow" | "ask" | "deny";

/** The origin of text that neither a person of the session nor the model wrote. */
export type TextOrigin = "web" | "unknown";

/** Stops the current run. */
export interface InterruptFrame {
  /** The session. */
  session_id: SessionId;
  /** The reason, if one was given. */
  reason?: string | null;
  /** The wheel that the client believes it holds. */
  wheel_epoch?: number | null;
  /** Identifies the request: one that is sent again with the same key is not carried out twice. */
  idempotency_key?: string | null;
}

/** Subscribes to the events of a session from a point on. */
export interface Subscribe {
  /** The session. Each connection has at most one subscription per session. */
  session_id: SessionId;
  /** The `seq` after which events are sent; 0 for all. */
  after_seq?: number;
  /** The kind of events. */
  view?: WireView;
  /** Only events of these agents, and those of no agent; empty means all events. */
  agents?: AgentStateId[];
  /** The media of agent streams to include; all if empty. */
  media?: Medium[];
}

/** The events that a subscriber gets. */
export type WireView = "environment" | "runtime" | "ui";

/** A living agent instance in a session. */
export type AgentStateId = string;

/** The medium of an agent's output stream. On the wire it is its name. */
export type Medium = string;

/** Ends a subscription. */
export interface Unsubscribe {
  /** The session. */
  session_id: SessionId;
}

/** Requests a change of the wheel. */
export interface WheelFrame {
  /** The session. */
  session_id: SessionId;
  /** The request. */
  wish: WheelWish;
}

/** A client's request about the wheel. */
export type WheelWish =
  | "ask"
  | "take"
  | { hand: Seat }
  | "release";

/** A program of a person. */
export interface Seat {
  /** The person. */
  person: OwnerId;
  /** The name that the person's program chose; it stays the same after a reconnect. */
  client: string;
}

/** The owner of a session. One owner never sees another's data. */
export type OwnerId = string;

/** Asks for a sign of life. */
export type Ping = Record<string, never>;

export type ServerNotice =
  | { event: "hello"; payload: Hello }
  | { event: "accepted"; payload: Accepted }
  | { event: "refused"; payload: Refused }
  | { event: "subscribed"; payload: Subscribed }
  | { event: "caught_up"; payload: CaughtUp }
  | { event: "unsubscribed"; payload: Unsubscribed }
  | { event: "presence"; payload: Presence }
  | { event: "wheel"; payload: Wheel }
  | { event: "approval_waiting"; payload: ApprovalWaiting }
  | { event: "ping"; payload: HeartbeatNotice }
  | { event: "bye"; payload: Bye };

/** The first frame of a server. */
export interface Hello {
  /** The version of the protocol. */
  protocol: number;
  /** The server, with its version. */
  server: string;
  /** A random value for this connection only; base64url. */
  nonce: string;
  /** The origin to sign: the address that the client connected to, as the server knows it. */
  origin: string;
  /** The end of the validity of a signature: milliseconds since 1970. */
  expires_at_ms: number;
  /**
   * The server's signature over its challenge and the client's own nonce (header `agentx-nonce`), if
   * there is one; base64url.
   */
  proof?: string | null;
  /** Whether unauthenticated visitors may connect. */
  visitors: boolean;
  /**
   * The interval of heartbeats in milliseconds; after twice this time without any frame the connection
   * is dead.
   */
  heartbeat_ms: number;
}

/** The client's frame with this id was carried out. */
export interface Accepted {
  /** The id of the request. */
  id: string;
  /** The event that it became, if it became one. */
  seq?: number | null;
  /** The outcome. */
  result?: unknown;
}

/** The server refused the client's frame with this id. */
export interface Refused {
  /** The id of the frame; absent if the frame had none. */
  id?: string | null;
  /** The reason. */
  problem: Problem;
}

/** An error; over HTTP also as `application/problem+json`. */
export interface Problem {
  /** The code for programs; it is stable. */
  code: string;
  /** The message for people: the error, its place, and advice. */
  detail: string;
  /** The time until a new attempt, in milliseconds. */
  retry_after_ms?: number | null;
  /** More data, which depends on the code. */
  data?: unknown;
}

/** A subscription began. */
export interface Subscribed {
  /** The session. */
  session_id: SessionId;
  /** The view. */
  view: WireView;
  /** The events follow this `seq`. */
  after_seq: number;
  /** The last event when it began. */
  head_seq: number;
  /** The reader's role. */
  role: SessionRole;
}

/** The rights of a person in a session. Each role includes the rights of the ones before it. */
export type SessionRole = "watch" | "approve" | "drive" | "own";

/** All events that existed at the start of a subscription have been sent. */
export interface CaughtUp {
  /** The session. */
  session_id: SessionId;
  /** The last event that was there. */
  seq: number;
}

/** A subscription ended before the client ended it. */
export interface Unsubscribed {
  /** The session. */
  session_id: SessionId;
  /** The reason. */
  problem: Problem;
}

/** The connected people. */
export interface Presence {
  /** The session. */
  session_id: SessionId;
  /** The people. */
  people: Present[];
}

/** A person who is present. */
export interface Present {
  /** The seat: the person and the program. */
  seat: Seat;
  /** The person's role. */
  role: SessionRole;
  /** Whether they drive. */
  driving: boolean;
}

/** The driver, and the person who asks to drive. */
export interface Wheel {
  /** The session. */
  session_id: SessionId;
  /** The number of changes so far. */
  epoch: number;
  /** The driver; absent if there is none. */
  seat?: Seat | null;
  /** The reason for the last change. */
  reason?: WheelReason | null;
  /** The person who asks to drive. */
  asked_by?: Seat | null;
}

/** The reason why the driver changed. */
export type WheelReason = "taken" | "handed_over" | "released" | "timed_out";

/** A call in a session of a member waits for the operator of the server or a person whom they named. */
export interface ApprovalWaiting {
  /** The session. */
  session_id: SessionId;
  /** The owner of the session. */
  owner: OwnerId;
  /** The name of the owner at the server. */
  owner_name?: string | null;
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
}

/** A sign of life. */
export interface HeartbeatNotice {
  /** The server's time: microseconds since 1970. */
  at: number;
  /** The progress of subscriptions that request only a part of their session. */
  seen?: Seen[];
}

/** The progress of a subscription. */
export interface Seen {
  /** The session. */
  session_id: SessionId;
  /** All selected events up to this one have been sent. */
  seq: number;
}

/** The connection ends. */
export interface Bye {
  /** The WebSocket's close code: 1001 the server ends, 1008 not allowed, 1013 too slow. */
  code: number;
  /** The reason for people. */
  reason: string;
  /** The time until a new attempt makes sense, in milliseconds; absent if none does. */
  retry_after_ms?: number | null;
}

/** An event with its context. */
export type EnvironmentFrame = Frame & EnvironmentEvent;

/** The context of an event. */
export interface Frame {
  /** Its place in the session. Derived events carry that of the event that they come from. */
  seq: number;
  /** For derived events: which of those that come from the same `seq`, from 0. */
  index?: number | null;
  at: Timestamp;
  source: Source;
  session_id: SessionId;
  agent_state_id?: AgentStateId | null;
  run_id?: RunId | null;
  cause?: ActionId | null;
}

/** Microseconds since the Unix epoch, UTC. */
export type Timestamp = number;

/** The origin of an event. */
export type Source = "user" | "agent" | "environment" | "system";

/** A run, from an input of the user to its last answer: `run_` and the `seq` of that input. */
export type RunId = string;

/** An action that an agent requests: `act_`, the `seq` that it follows from, and its index there. */
export type ActionId = string;

export type EnvironmentEvent =
  | { event: "user_message"; payload: UserMessage }
  | { event: "interrupt_requested"; payload: InterruptRequested }
  | { event: "input_revised"; payload: InputRevised }
  | { event: "approval"; payload: Approval }
  | { event: "system_command"; payload: SystemCommand }
  | { event: "stream_start"; payload: StreamStart }
  | { event: "text_chunk"; payload: TextChunk }
  | { event: "thinking_chunk"; payload: ThinkingChunk }
  | { event: "part_end"; payload: PartEnd }
  | { event: "tool_call_start"; payload: ToolCallStart }
  | { event: "tool_call_chunk"; payload: ToolCallChunk }
  | { event: "tool_call"; payload: ToolCall }
  | { event: "provider_part"; payload: ProviderPart }
  | { event: "usage"; payload: UsageReport }
  | { event: "model_fell_back"; payload: ModelFellBack }
  | { event: "fallback_asked"; payload: FallbackAsked }
  | { event: "stream_end"; payload: StreamEnd }
  | { event: "answer_checked"; payload: AnswerChecked }
  | { event: "attempt_failed"; payload: AttemptFailed }
  | { event: "action_started"; payload: ActionStarted }
  | { event: "tool_output_chunk"; payload: ToolOutputChunk }
  | { event: "effect_started"; payload: EffectStarted }
  | { event: "effect_ended"; payload: EffectEnded }
  | { event: "inner_call_asked"; payload: InnerCallAsked }
  | { event: "tool_result"; payload: ToolResult }
  | { event: "job_ended"; payload: JobEnded }
  | { event: "command_ran"; payload: CommandRan }
  | { event: "request_recorded"; payload: RequestRecorded }
  | { event: "connected"; payload: Connected }
  | { event: "disconnected"; payload: Disconnected }
  | { event: "timer_fired"; payload: TimerFired }
  | { event: "session_opened"; payload: SessionOpened }
  | { event: "writer_attached"; payload: WriterAttached }
  | { event: "session_forked"; payload: SessionForked }
  | { event: "session_imported"; payload: SessionImported }
  | { event: "session_titled"; payload: SessionTitled }
  | { event: "session_redacted"; payload: SessionRedacted }
  | { event: "wheel_changed"; payload: WheelChanged }
  | { event: "access_changed"; payload: AccessChanged }
  | { event: "files_restoring"; payload: FilesRestoring }
  | { event: "files_restored"; payload: FilesRestored }
  | { event: "session_closed"; payload: SessionClosed }
  | { event: "config_changed"; payload: ConfigChanged }
  | { event: "agent_spawned"; payload: AgentSpawned }
  | { event: "agent_closed"; payload: AgentClosed }
  | { event: "input_pinned"; payload: InputPinned }
  | { event: "condense_requested"; payload: CondenseRequested }
  | { event: "context_built"; payload: ContextBuilt }
  | { event: "risk_assessed"; payload: RiskAssessed }
  | { event: "memories_proposed"; payload: MemoriesProposed }
  | { event: "context_condensed"; payload: ContextCondensed }
  | { event: "condensing_failed"; payload: CondensingFailed }
  | { event: "context_restored"; payload: ContextRestored }
  | { event: "interrupted"; payload: Interrupted }
  | { event: "error"; payload: ErrorOccurred };

/** A person sends an input. */
export interface UserMessage {
  /** Unique in the session. */
  message_id: MessageId;
  /** The content of the message. */
  content: ContentPart[];
  /** The time at which the agent handles it. */
  mode?: InputMode;
  /** Identifies the message: one that is sent again with the same key is not recorded twice. */
  idempotency_key?: string | null;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
  /**
   * The schema of the answer to it, if it is one that opens a run; one that joins a run changes
   * nothing there.
   */
  answer_schema?: AnswerSchema | null;
}

/** A message of a conversation. */
export type MessageId = string;

/** A person wants to stop the run. */
export interface InterruptRequested {
  /** The reason, if one was given. */
  reason?: string | null;
  /**
   * Whether queued inputs keep waiting until a person sends a message. Set while the session is being
   * closed.
   */
  hold?: boolean;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/**
 * A person withdraws a queued input, or gives it another mode. An input that is no longer queued does
 * not change.
 */
export interface InputRevised {
  /** The input. */
  message_id: MessageId;
  /** The new mode; absent if the input is withdrawn. */
  mode?: InputMode | null;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A person decides about a tool call. */
export interface Approval {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The decision. */
  decision: ApprovalDecision;
  /** A word to the model. */
  note?: string | null;
  /** For `session` and `always`: the rule that is kept. For `deny`: the rule that closed the question. */
  rule?: Rule | null;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
  /**
   * Whether they may not decide for the operator of the server: then the decision allows nothing that
   * the server's settings ask about, and keeps no rule.
   */
  limited?: boolean;
}

/** A person gives the system a command. */
export interface SystemCommand {
  /** The name, without a slash. */
  command: string;
  /** The arguments. */
  args: unknown;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A model begins to answer. */
export interface StreamStart {
  /** The provider's id of the answer, or one made from the action's id. */
  message_id: MessageId;
  /** The model as the provider names it. */
  model: string;
  /** The number of the attempt, from 1. */
  attempt: number;
}

/** Words of the answer. */
export interface TextChunk {
  /** The text as it arrived. */
  text: string;
}

/** Words of the model's reasoning. */
export interface ThinkingChunk {
  /** The text as it arrived. */
  text: string;
}

/** The open part ends. */
export type PartEnd = Record<string, never>;

/** A model begins to ask for a tool. */
export interface ToolCallStart {
  /** The model's name for this call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
}

/** A piece of the arguments. */
export interface ToolCallChunk {
  /** The call. */
  tool_call_id: ToolCallId;
  /** A piece of JSON text. */
  json: string;
}

/** A model asks for a tool. */
export interface ToolCall {
  /** The model's name for this call, unique in the session. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments; `{}` if there were none or they are not JSON. */
  input: unknown;
  /** Set if the arguments are not JSON. */
  invalid?: InvalidInput | null;
}

/** Arguments of a tool call that are not JSON. */
export interface InvalidInput {
  /** The arguments as the model wrote them. */
  raw: string;
  /** The error. */
  error: string;
}

/** Something that only the provider understands. */
export interface ProviderPart {
  /** The API that it belongs to. */
  api: string;
  /** Whether it belongs to the part before it; otherwise it is a separate part. */
  attach: boolean;
  /** The data as it arrived. */
  data: unknown;
}

/** The tokens of the call so far. */
export interface UsageReport {
  /** Tokens since the stream began. */
  usage: Usage;
}

/**
 * Tokens of one model call, as the provider counts them. The four kinds do not overlap; `reasoning` is part
 * of `output`.
 */
export interface Usage {
  /** Read at the full price. */
  input_tokens: number;
  /** Written by the model, reasoning included. */
  output_tokens: number;
  /** Read from the provider's cache. */
  cache_read_tokens?: number;
  /** Written into the provider's cache. */
  cache_write_tokens?: number;
  /**
   * The part of the tokens written into the cache that the provider keeps for an hour instead of 5
   * minutes.
   */
  cache_write_1h_tokens?: number;
  /** The part of the output that was reasoning. */
  reasoning_tokens?: number;
  /**
   * The number of these tokens that are estimated, because the answer was cut off or the server reports no
   * usage.
   */
  estimated_tokens?: number;
  /** The cost that the provider reports; 0 if it reports none. It counts if the model's prices are unknown. */
  reported_cost?: NanoUsd;
  /** The number of these tokens whose price is not fully known, so that the cost is incomplete. */
  unpriced_tokens?: number;
}

/** Money: billionths of a US dollar. */
export type NanoUsd = number;

/**
 * The provider lets another model continue the answer: the tokens of the whole stream are paid at that
 * model's prices.
 */
export interface ModelFellBack {
  /** The model that answers from now on, as the provider names it. */
  model: string;
  /** Its prices; absent if the catalog does not know it, and then the requested model's prices apply. */
  prices?: Prices | null;
}

/** Prices of a model in nano-dollars per token (dollars per million tokens × 1,000). */
export interface Prices {
  /** Per token read at the full price. */
  input?: number;
  /** The price per token written. */
  output?: number;
  /** Per token read from the cache. */
  cache_read?: number;
  /** Per token written into the cache. */
  cache_write?: number;
  /** Per token written into the cache for an hour; `None` means twice `input`. */
  cache_write_1h?: number | null;
  /** The prices of a call that reads more than a number of tokens. */
  long?: LongPrices | null;
  /** Whether the model is known to cost nothing. Prices of 0 without this are unknown prices. */
  free?: boolean;
}

/**
 * The prices of a call that reads a lot, in nano-dollars per token: some vendors charge more for every token
 * of such a call. A token that is written into the cache for an hour costs twice `input`.
 */
export interface LongPrices {
  /** A call is long that reads more tokens than this, those of the cache included. */
  over_tokens: number;
  /** Per token read at the full price. */
  input: number;
  /** The price per token written. */
  output: number;
  /** Per token read from the cache. */
  cache_read: number;
  /** Per token written into the cache. */
  cache_write: number;
}

/**
 * A model did not answer, and the agent has fallback models: from now on the next of them is called,
 * until the run ends. The envelope's `cause` is the action that requested it.
 */
export interface FallbackAsked {
  /** The model that did not answer, as `provider/id`. */
  from: string;
  /** The model that is asked from now on, as `provider/id`. */
  to: string;
  /** The code of the failure, as in `error`. */
  code: string;
  /** The words of the failure, for people. */
  message: string;
}

/** A model has ended its answer. */
export interface StreamEnd {
  /** The reason. */
  stop_reason: StopReason;
  /** The provider's own word, if it is more precise. */
  raw?: string | null;
}

/** The reason why a model stopped. */
export type StopReason = "end_turn" | "tool_use" | "max_tokens" | "stop_sequence" | "pause_turn" | "refusal" | "context_window" | "broken" | "interrupted" | "other";

/** An answer was checked against the run's answer schema. The `cause` is the action that wanted it. */
export interface AnswerChecked {
  /** The number of the answer in its run, from 1. */
  attempt: number;
  /** The validator's messages, each with its place, at most 5; empty if the answer fits. */
  problems?: string[];
  /** Whether the schema itself cannot be used: no answer will ever fit. `problems` has the reason. */
  invalid_schema?: boolean;
}

/** A model call attempt failed. */
export interface AttemptFailed {
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The stable code for programs: `rate_limited`, `overloaded`, `unauthorized`, … */
  code: string;
  /** The message for people. */
  message: string;
  /** The HTTP status, if there was an answer. */
  status?: number | null;
  /** Milliseconds until the next attempt; `None` if there is none. */
  retry_in_ms?: number | null;
  /**
   * Milliseconds for which the server is still waited for at most, the pause before the next attempt
   * included; `None` if none follows, or attempts are counted instead.
   */
  gives_up_in_ms?: number | null;
  /** The sizes that the server reports, if the conversation did not fit into the model. */
  overflow?: Overflow | null;
  /**
   * The part of the request whose form the provider refuses, if it does: the same request would be
   * refused again.
   */
  refused?: RequestPart | null;
  /**
   * The longest answer that the provider accepts, in tokens, if it refuses the requested one and names
   * its limit.
   */
  longest_answer?: number | null;
  /**
   * The maximum number of pictures and other media that the provider accepts in one request, if it
   * refuses the request for their number.
   */
  most_media?: number | null;
  /**
   * Whether the request had no reasoning of earlier answers, although the conversation may have some:
   * then leaving it out changes nothing. Only said of a refusal that names no part.
   */
  no_thinking?: boolean;
  /**
   * The place in the conversation of what the refusal names, if it names one by its place in the
   * request.
   */
  refused_place?: MessagePlace | null;
}

/** The sizes that a server names when it refuses a conversation as too long; absent if it names none. */
export interface Overflow {
  /** Tokens that fit into one call. */
  window?: number | null;
  /** Tokens of the request as it counts them. */
  asked?: number | null;
}

/** A part of a request that a provider may refuse for its form. */
export type RequestPart = "thinking" | "extras" | "media" | "tool_calls" | "tools" | "roles" | "longest_answer" | "blocks" | "temperature" | "stream_options" | "reasoning_effort" | "reasoning_summary" | "cache_key" | "max_tokens" | "max_completion_tokens" | "empty_text" | "thought_signature" | "strict_schema" | "answer_schema" | "reasoning_content" | "missing_reasoning" | "reasoning" | "include" | "store" | "tool_strict" | "cache_control" | "thinking_binding" | "thinking_display" | "adaptive_thinking" | "thinking_budget" | "tool_json_schema" | "named_part" | "latest_messages" | "unknown";

/** A part of a message of the conversation. */
export interface MessagePlace {
  /** The message. */
  message_id: MessageId;
  /** The index of the part in the message as it was sent; absent for the whole message. */
  part?: number | null;
}

/** An action is about to be performed. The envelope's `cause` is its id. */
export interface ActionStarted {
  /** The kind of action. */
  kind: ActionKind;
  /** The call, for tools and for a wait of the model. */
  tool_call_id?: ToolCallId | null;
  /** The time at which a wait of the model ends: the next program that opens the session ends it then. */
  due_at?: Timestamp | null;
}

/** The kinds of actions. */
export type ActionKind = "call_model" | "condense" | "build_context" | "assess_risk" | "propose_memories" | "call_tool" | "answer_call" | "check_answer" | "start_timer" | "cancel" | "decide_inner_call" | "report" | "spawn_agent" | "send_input" | "interrupt_agent" | "close_agent" | "unknown";

/** Output of a tool while it runs. */
export interface ToolOutputChunk {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The channel of the output. */
  channel: OutputChannel;
  /** The output; bytes that are not UTF-8 are replaced. */
  text: string;
}

/** The channel of a piece of tool output. */
export type OutputChannel = "stdout" | "stderr" | "progress";

/** A running call begins a step. */
export interface EffectStarted {
  /** The call. */
  tool_call_id: ToolCallId;
  /**
   * The number of the step, in the order in which the call begins them; 0 is the beginning of the call
   * itself.
   */
  step: number;
  /** The kind of step: `generate`, `http`, `emit`, … */
  kind: string;
  /** The request, without secrets. */
  input: unknown;
}

/** A step of a running call has ended. */
export interface EffectEnded {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The number of the step. */
  step: number;
  /** The kind of step. */
  kind: string;
  /** The request, if no `effect_started` has it. */
  input?: unknown;
  /** The outcome, without secrets. */
  outcome: EffectOutcome;
  /** The cost, if the step called a model. */
  bill?: EffectBill | null;
  /** If it called a tool that changed a file, that tool's details about the file. */
  details?: unknown;
}

/** The outcome of a step of a call. */
export type EffectOutcome =
  | { done: unknown }
  | { failed: EffectFailure };

/** The failure of a step. */
export interface EffectFailure {
  /** The stable code for programs: `denied`, `timed_out`, `unknown_outcome`, … */
  code: string;
  /** The message for people. */
  message: string;
}

/** The cost of a step that called a model. */
export interface EffectBill {
  /** The model, as `provider/id`; in older sessions only the id. */
  model: string;
  /** Tokens. */
  usage: Usage;
  /** Money. */
  cost: NanoUsd;
}

/** A running call wants to make a nested call that a person may have to decide about. */
export interface InnerCallAsked {
  /** The id: that of the running call, `/` and the step that makes it. */
  tool_call_id: ToolCallId;
  /** The tool to call. The agent itself may lack it. */
  tool: ToolSpec;
  /** With these arguments, without secrets. */
  input: unknown;
  /** The tool that makes the call. */
  by: string;
  /** The place in its file: `tools/report.luau:12`, `step fetch`; absent if unknown. */
  place?: string | null;
  /** Whether the script's file lists the called tool by name, not only with `*`. */
  named?: boolean;
  /**
   * For a question to a person instead of a call: the JSON Schema of the answer. No rule and no mode
   * answers it. If nobody can be asked, it is refused; the note of an `approval` with `once` is the
   * answer, as text.
   */
  form?: unknown;
  /**
   * For a question to a person: whether only those may answer who decide for the operator of the
   * server, because a yes loosens what the operator's settings say.
   */
  for_operator?: boolean;
}

/** A tool as the model and the approval rules see it. */
export interface ToolSpec {
  /** Unique among the tools of an agent. */
  name: string;
  /** For the model: when to use it and how. */
  description: string;
  /** JSON Schema (2020-12) of the arguments. */
  input_schema: unknown;
  /** The effect of its use. */
  access: Access;
  /** The argument that holds a path, if one does. */
  path_argument?: string | null;
  /** The argument that holds a command line, if one does. */
  command_argument?: string | null;
  /**
   * The argument that holds addresses (a text or a list of texts), if one does: rules and questions are
   * then about the hosts in it.
   */
  address_argument?: string | null;
  /**
   * Whether a call can safely be repeated: then it is made again after a crash. Any other is answered with
   * an unknown outcome.
   */
  idempotent?: boolean;
  /** Whether a person is asked what became of a call that a crash interrupted, before anything else. */
  asks_unknown?: boolean;
  /** Whether a successful call ends the run. */
  quit?: boolean;
  /**
   * Whether the schema describes the arguments completely: then a call that does not fit is answered with
   * the mistakes, before a person or the tool gets it. In older sessions, only the tool checks.
   */
  checked?: boolean;
  /** Whether only an agent that names the tool has it: one with all tools does not get it. */
  only_by_name?: boolean;
  /**
   * The reach beyond the arguments, if a file describes the tool: for the question to a person and for
   * rules that name a host.
   */
  reach?: ToolReach | null;
}

/** The effect of a tool's use; approval rules start from it. */
export type Access = "internal" | "read" | "change" | "run" | "network";

/** The reach of a tool that a file describes, as its file declares it. */
export interface ToolReach {
  /** Hosts that it sends requests to; one that its file leaves open has a `*`. */
  hosts?: string[];
  /** Environment variables that it gets, by name. */
  variables?: string[];
  /** Tools that it calls, by name; `*` for all. */
  tools?: string[];
  /** Models that it asks, by name; `*` for all. */
  models?: string[];
  /** Key spaces in which it keeps values, by name. */
  key_spaces?: string[];
  /** Agents that it creates, by name; `*` for all. */
  agents?: string[];
  /**
   * If the file belongs to a folder, or a server describes the tool: the beginning of a hash of everything
   * that describes it. A rule for this file alone names the tool as `NAME@HASH`.
   */
  file?: string | null;
  /**
   * Whether the file is a folder's and takes the name of a tool that the person has from elsewhere: then
   * only a rule of this file allows a call.
   */
  replaces?: boolean;
  /**
   * If an MCP server has the tool: `SERVER/TOOL`, by the server's name for it. A rule for the tool `mcp`
   * names it so.
   */
  mcp?: string | null;
  /**
   * Whether a folder's `.mcp.json` names that server. A rule that allows by name is then about it only if
   * the rule is for a workspace, because another folder may give the name to another program.
   */
  of_folder?: boolean;
  /**
   * The difference, if the server's description of the tool is not the accepted one. Then only a rule for
   * exactly this description ([`ToolReach::file`]) allows a call; if nobody can be asked, it is refused.
   */
  changed?: string | null;
}

/** The outcome of a tool call. */
export interface ToolResult {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The text for the model. */
  result: ContentPart[];
  /** Whether the model should read it as a failure. */
  is_error: boolean;
  /** The outcome. */
  status: ToolStatus;
  /**
   * For people and programs, not for the model: exit code, diff, the blob with the whole output, the
   * file as it was.
   */
  details?: unknown;
}

/** The outcome of a tool call. */
export type ToolStatus = "success" | "failed" | "invalid" | "denied" | "refused" | "timed_out" | "interrupted" | "unknown";

/**
 * A command that a call left running in the background has ended by itself. The envelope's `cause` is
 * the call's action.
 */
export interface JobEnded {
  /** Its name in the session, by which the model asks for its output. */
  job: string;
  /** The command line, shortened if it is long. */
  command: string;
  /** The outcome as text: `exit 0, 3.20 s`. */
  how: string;
}

/**
 * A command that a person ran outside the conversation has ended. The model reads about it in its next
 * call; it begins no run.
 */
export interface CommandRan {
  /** The command line. */
  command: string;
  /** The output; of a long output the beginning and the end. */
  output: string;
  /** The outcome as text: `exit 0`. */
  how: string;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/**
 * A request of a client was carried out. It is recorded with the event of the request, in the same
 * commit, so that the request is known if it comes again because its answer was lost.
 */
export interface RequestRecorded {
  /**
   * The key of the request: different for each request, the same when it is sent again. The key of
   * another person than the session's owner begins with the person's id.
   */
  idempotency_key: string;
  /** The event that the request became; the latest event if there was nothing to do. */
  seq: number;
  /**
   * A hash of what was requested, so that the key is refused for another request; absent in logs older
   * than this field.
   */
  request?: string | null;
}

/** A transport is up. */
export interface Connected {
  /** The address, without secrets. */
  endpoint: string;
}

/** A transport is down. */
export interface Disconnected {
  /** The address, without secrets. */
  endpoint: string;
  /** The reason. */
  reason?: string | null;
  /** Milliseconds until the next attempt; `None` if there is none. */
  retry_in_ms?: number | null;
}

/** A timer is due. The envelope's `cause` is the action that started it. */
export interface TimerFired {
  /** The timer's purpose. */
  timer: Timer;
}

/** The purpose of a timer. */
export type Timer = "run_limit" | "heartbeat" | "wait" | "reminder" | "unknown";

/** A session begins. The envelope's `agent_state_id` is its first agent. */
export interface SessionOpened {
  /** The owner. */
  owner: OwnerId;
  /** The agent, resolved. */
  config: AgentConfig;
  /** The program that opened it, with its version. */
  program: string;
}

/** All settings that determine the behaviour of an agent, as they were when the session was opened. */
export interface AgentConfig {
  /** The state machine that drives the agent. */
  kind: AgentKind;
  /** The name shown to people. */
  name: string;
  /** The model that it asks. */
  model: ModelSpec;
  /**
   * Models to ask in this order, within a run, if `model` is down, limited or refuses. The next run begins
   * with `model` again.
   */
  fallbacks?: ModelSpec[];
  /** Settings of each model call. */
  params: ModelParams;
  /** Standing instructions. */
  system_prompt: string;
  /** Files such as AGENTS.md, as they were read. */
  instructions: Instructions[];
  /** The directory that the agent works in, absolute, with symbolic links resolved. */
  workspace: string;
  /** The tools on offer. */
  tools: ToolSpec[];
  /** The default decision about calls. */
  approval: ApprovalMode;
  /**
   * Approval rules, in order of their source. Regardless of the order, a `deny` beats an `ask`, and an
   * `ask` beats an `allow`.
   */
  rules: Rule[];
  /** The limits of a run. */
  limits: Limits;
  /** Agents that this one may make, by their names: with its tool `delegate`, or in its scripts. */
  agents?: AgentConfig[];
  /** The routing of inputs, if this agent routes them. */
  routing?: Routing | null;
  /** The conditions under which its conversation is condensed; `None` if never automatically. */
  condensing?: Condensing | null;
  /** The version of the agent's built-in rules, up to [`RULES_VERSION`]; 0 in logs older than this number. */
  rules_version?: number;
  /** Files that its calls are kept from by default; none in logs from before there was such a list. */
  guard?: Guard | null;
  /**
   * Requirements of a server for each call of the session, which override everything else here; absent if
   * no server has the session open, and in logs older than this field. Only the program writes it.
   */
  server_rules?: ServerRules | null;
  /** Whether the agent gets every tool that the current program offers, not only `tools`. */
  all_tools?: boolean;
  /** The condition under which MCP tools are searched, not listed; `None` if never, and in older logs. */
  tool_search?: ToolSearch | null;
  /** The schema of the answer that ends each of its runs; the schema of an input takes precedence. */
  answer_schema?: AnswerSchema | null;
  /** The behaviour if nobody can answer; `None` if the agent lacks the tool `ask_user`, and in older logs. */
  ask_user?: AskUser | null;
  /** Whether the agent has the tool `wait`, which suspends its run until a time; `false` in older logs. */
  wait?: boolean;
  /**
   * The setting of the tool `remind_me`, which sets reminders for the person; `None` if the agent lacks
   * it, and in older logs.
   */
  reminders?: ReminderSettings | null;
  /** Whether a run at a limit of rounds, tokens or cost asks a person; `false` in older logs. */
  asks_at_limits?: boolean;
  /** The conditions under which the agent counts as stuck in a loop; `None` if never, and in older logs. */
  stuck?: StuckSettings | null;
  /**
   * Plan mode: while it is `true`, every call that changes files, runs a program or leaves the machine is
   * refused. `false` if it was on before; `None` if it never was, and in logs older than this field.
   */
  plan_mode?: boolean | null;
  /** Sources of context for each run, such as `memory`; none in older logs and for agents that it makes. */
  context_sources?: ContextSource[];
  /**
   * The times at which memories are proposed; `None` for never, in older logs, and for agents that it
   * makes.
   */
  learning?: LearningSettings | null;
  /**
   * Whether text from the web has entered the conversation ([`TextOrigin::Web`]), for rules about it. The
   * agent sets it when it gets such a result; `false` in logs older than this field.
   */
  web_text?: boolean;
  /** The analyzers that assess the risk of calls; `None` if nothing is assessed, and in older logs. */
  security?: SecuritySettings | null;
  /**
   * Names of the built-in agents that this one may make with its tool `delegate`: `general`, `explore`. A
   * name that a program does not know is ignored. None in older logs.
   */
  built_in_agents?: string[];
  /**
   * The name of the built-in agent that this one is: it follows changes of the agent that made it. `None`
   * for every other agent, and in older logs.
   */
  built_in?: string | null;
  /**
   * The number of earlier messages that a request has besides those of its run; `None` for as many as fit,
   * and in older logs.
   */
  history_messages?: number | null;
}

/** The state machine that drives the agent. */
export type AgentKind = "react" | "match" | "unknown";

/**
 * A resolved catalog entry: all settings of a request to this model. It holds no secret, and no address that
 * is connected to.
 */
export interface ModelSpec {
  /** The id that the API expects. */
  id: string;
  /** The configured provider that serves it, for example `anthropic` or `ollama`. */
  provider: string;
  /** The protocol. */
  api: Api;
  /** Tokens that fit into one call, answer included. */
  context_window: number;
  /** The longest answer in tokens. */
  max_output_tokens: number;
  /** The prices. */
  prices?: Prices;
  /** The input media besides text; `None` if unknown. */
  input?: InputMedium[] | null;
  /**
   * The origin (`scheme://host[:port]`) of the called server, if that is not the provider's own. It is
   * never connected to: a request is refused if the provider's address has changed meanwhile.
   */
  server?: string | null;
  /**
   * Whether `max_output_tokens` is only assumed, because nobody has said how long the model's answers may
   * be. A length that a person sets is then requested as it is.
   */
  assumes_output?: boolean;
  /**
   * A person's own name for the model, if it differs from the id. It distinguishes models of a provider
   * with the same id.
   */
  name?: string | null;
}

/** The wire protocol of a model. */
export type Api = "anthropic" | "openai-chat" | "openai-responses" | "gemini" | "gemini-interactions" | "bedrock" | "bedrock-converse" | "vertex-anthropic" | "scripted" | "unknown";

/** A kind of input besides text. */
export type InputMedium = "image" | "audio" | "file";

/** Settings of one model call. A field that is `None` is left to the provider. */
export interface ModelParams {
  /** The longest answer in tokens, within the model's own limit. */
  max_output_tokens?: number | null;
  /** 0 to 2, as the provider understands it. */
  temperature?: number | null;
  /** The number of tokens for reasoning; `None` requests no reasoning. */
  thinking_tokens?: number | null;
}

/**
 * A file of instructions that was read when the session was opened, or the description of the agent's
 * environment.
 */
export interface Instructions {
  /** The path of the file; empty for the description of the environment, which comes from no file. */
  path: string;
  /** The content of the file. */
  text: string;
}

/** The default for a call that no rule allows or denies. */
export type ApprovalMode = "ask" | "accept_edits" | "auto" | "deny";

/** The limits of a run. `None` is not a limit. */
export interface Limits {
  /** Maximum number of times in one run that the model is answered with tool results. */
  max_iterations?: number | null;
  /** Tokens in one run, read and written. */
  max_tokens?: number | null;
  /** Money in one run. */
  max_cost?: NanoUsd | null;
  /** Milliseconds from the start of a run to its end, without times in which no program was running. */
  max_wall_ms?: number | null;
}

/** The rules that give each input to an agent. */
export interface Routing {
  /** The intents of people. */
  rules: IntentRule[];
  /** The agents and the rules that they serve. */
  routes: Route[];
  /** The agent for inputs that fit no rule; `None` if there is none. */
  default?: AgentConfig | null;
}

/** A request that people may make, and their words for it. */
export interface IntentRule {
  /** The rule's name, used in answers of the model too. */
  name: string;
  /** Background that a model needs to understand the input. */
  references?: IntentReference[];
  /** The variables of the rule. */
  vars?: IntentVar[];
  /** Phrases that people use. */
  patterns?: IntentPattern[];
  /** Example inputs, with their intents. */
  examples?: IntentExample[];
}

/** Something that a model has to know. */
export interface IntentReference {
  /** The topic. */
  topic: string;
  /** The knowledge, as text. */
  text: string;
}

/** Something that an input fills in. */
export interface IntentVar {
  /** The name in patterns and answers. */
  name: string;
  /** The name shown to people. */
  label: string;
  /** The type. */
  type: VarKind;
}

/** The type of a variable. */
export type VarKind = "string" | "int" | "float" | "bool";

/** A phrasing of it. */
export interface IntentPattern {
  /** The words, with `[name]` for a variable. */
  input: string;
  /** The meaning, as a line `rule: name=value, name=value`; `None` if it fills the variables in `input`. */
  output?: string | null;
}

/** An input as it may come. */
export interface IntentExample {
  /** The subject of the example. */
  subject: string;
  /** The input of a person. */
  input?: string | null;
  /** The meaning, in lines `rule: name=value`. */
  output?: string | null;
}

/** An agent, and the rules whose intents it handles. */
export interface Route {
  /** The names of the rules. */
  rules: string[];
  /** The agent. */
  agent: AgentConfig;
}

/** The settings for condensing an agent's conversation. Without them the agent never condenses automatically. */
export interface Condensing {
  /**
   * The fill of the model's window at which it is condensed, in percent; 0 means only if a person requests
   * it or the model reports a full window.
   */
  at_percent: number;
  /**
   * The number of latest exchanges that stay unchanged, as long as they fit into a quarter of the window
   * and a third of what instructions and tools leave of it.
   */
  tail: number;
  /** The model that writes the summaries; `None` means the agent's own. */
  model?: ModelSpec | null;
  /**
   * Whether requests keep the same beginning as long as possible: `recall` is offered from the start, and
   * thinking that followed another beginning is left out. Requests of older sessions stay as they were.
   */
  keeps_beginning?: boolean;
  /** The number of latest results of tools that stay; a short text masks older ones. `None` masks none. */
  masks?: number | null;
  /** The same for the results of tools that read web pages. */
  masks_web?: number | null;
  /** Maximum number of messages: beyond it the older half is left out, without a summary. */
  recent?: number | null;
  /** Maximum number of messages: beyond it a summary replaces the older half, whatever its size. */
  summary_after?: number | null;
  /**
   * Whether only a person's request brings a summary: the window of a conversation that does not fit moves
   * on.
   */
  no_summary?: boolean;
}

/**
 * Files that calls may not touch by default, as patterns like those of a rule's path, without regard to
 * case. They are absolute, or begin with `~/`, which means any home directory that a call names.
 */
export interface Guard {
  /** Files that may hold secrets: a person is asked, unless a rule allows it that names such a file. */
  secrets: string[];
  /** Files that hold none although a pattern of `secrets` fits them. */
  except?: string[];
  /** The program's own files, such as sessions and keys: refused regardless of the rules. */
  own?: string[];
  /**
   * Programs that Git runs because the workspace's repository configures them (`filter.lfs.clean`,
   * `hooks/pre-commit`) and that the person has not accepted: while there are any, a rule with a star
   * allows no command of Git.
   */
  git?: string[];
  /** The remotes of the workspace's repository; absent if nobody looked. */
  git_remotes?: GitRemotes | null;
  /**
   * Whether the person made the workspace read-only: the rules refuse every tool that does more than read,
   * and give this as the reason.
   */
  read_only?: boolean;
  /**
   * Whether a command line that certainly only reads the workspace runs without a question: the person
   * trusts the folder, and their settings do not ask about such commands. Not in the session of a member.
   */
  reading_commands?: boolean;
  /**
   * The home directory of the person, absolute, as it is written and without links: `~/` in the path of a
   * rule means it, too. Empty if nobody looked.
   */
  homes?: string[];
}

/**
 * The remotes of the workspace's repository: no star of a rule matches one that may be a path, because Git
 * runs the hooks of the repository there.
 */
export interface GitRemotes {
  /** The names of those that lead to other machines. */
  names?: string[];
  /** Whether there may be others, so that a command without a name may reach one. */
  may_be_paths?: boolean;
}

/**
 * Requirements of a server for each call in a session, from its operator's settings. They are recorded again
 * when the session is opened with changed settings, so a rule also applies to older sessions.
 */
export interface ServerRules {
  /**
   * The rules of the settings. They take precedence over those of the session: a `deny` or `ask` here
   * applies regardless of the session's rules.
   */
  rules?: Rule[];
  /**
   * Set in the session of a member: the absolute directory in which they work. In such a session, the
   * session's rules and the approval mode `auto` allow nothing: besides reading in this directory, a call
   * runs only if a rule of the server or the operator allows it.
   */
  member_directory?: string | null;
}

/**
 * The condition under which tools of MCP servers are found by searching instead of being listed in each
 * request.
 */
export interface ToolSearch {
  /**
   * The share of the model's context window, in percent, beyond which the tools are searched. Tokens are
   * estimated.
   */
  at_percent: number;
}

/** The behaviour if nobody can answer a question of the model. */
export type AskUser = "decide" | "wait";

/** The setting of the tool `remind_me`. */
export interface ReminderSettings {
  /** The name of the person's time zone, such as `Europe/Berlin`; empty if it is not known. */
  time_zone?: string;
}

/** The settings of the stuck detector. An agent without them is never stuck. */
export interface StuckSettings {
  /** The rules that apply. */
  mode?: StuckMode;
  /** Number of equal successful calls after which a note tells the model. At least 2. */
  nudge_after?: number;
  /** Number of equal successful calls after which a person is asked, or the run is stopped. */
  stop_after?: number;
  /** Number of equal failing calls after which a note tells the model. At least 2. */
  nudge_after_errors?: number;
  /** Number of equal failing calls after which a person is asked, or the run is stopped. */
  stop_after_errors?: number;
}

/** The rules by which an agent counts as stuck. */
export type StuckMode = "off" | "calls" | "v0";

/** A source of context of an agent. */
export interface ContextSource {
  /** The name of the source, by which a service serves it: `memory`. */
  name: string;
  /** The maximum size of what it gives for one run, in tokens, which the service estimates. */
  max_tokens: number;
}

/** The times at which an agent has proposals made for the memory of its person. */
export interface LearningSettings {
  /**
   * The number of inputs of the owner after which a model is asked what to remember of them, at most
   * 1,000; 0 for never.
   */
  threshold_turns: number;
  /** The number of inputs after which it is also asked to reflect on the conversation; 0 for never. */
  reflect_turns?: number;
}

/** The analyzers of an agent, and the decisions that follow from their verdicts. */
export interface SecuritySettings {
  /** The analyzers, each asked about each call; the highest risk counts. Nothing is assessed without any. */
  analyzers: AnalyzerSpec[];
  /** The calls that need a person's decision. */
  policy?: ConfirmationPolicy;
  /** The lowest risk that needs a decision with the policy `risky`. */
  threshold: SecurityRisk;
  /** Whether a call whose risk an analyzer does not know needs a decision with the policy `risky`. */
  asks_unknown?: boolean;
  /**
   * Whether a judge may allow a call that no rule is about and that a person would be asked about. Only
   * the person's own settings set it.
   */
  judge_allows?: boolean;
}

/** An analyzer of an agent. */
export interface AnalyzerSpec {
  /** Its name, by which a responder serves it: `rules`, `model`, or one of the person's settings. */
  name: string;
  /** The maximum time for a verdict, in milliseconds; after it the risk is unknown. */
  timeout_ms: number;
  /** The model to ask, for [`MODEL_ANALYZER`]. */
  model?: ModelSpec | null;
}

/** The calls that need a person's decision because of their risk. */
export type ConfirmationPolicy = "always" | "never" | "risky";

/** The risk of a call. They are ordered: the highest of several is the last. */
export type SecurityRisk = "unknown" | "low" | "medium" | "high";

/** A process became the session's writer. */
export interface WriterAttached {
  /** Counts the writers of this session, from 1; a writer with a smaller one is refused. */
  epoch: number;
  /** The program, with its version. */
  program: string;
  /** The program's process id. */
  process: number;
  /** Programs left running by the previous process and ended by this one. */
  ended?: LeftRunning[];
  /** Whether it is a server: if it is killed, the next server continues its runs without being asked. */
  serves?: boolean;
  /** The recorded output of calls that the end of the previous process cut off. */
  cut_off?: CutOffOutput[];
}

/**
 * Processes of a command that outlived the program that ran it, which the next program that opens the
 * session ends; or a command in the background that ended with its program.
 */
export interface LeftRunning {
  /** The call that was cut off; absent if the call had ended and this continued in the background. */
  tool_call_id?: ToolCallId | null;
  /**
   * The name of the first program, as the system shows it, or `!` and the command that a person ran; the
   * beginning of the command line of one that ended with its program.
   */
  program: string;
  /** The number of its processes; 0 for a command that ended with its program. */
  processes: number;
}

/** The output of a call before the end of its program cut it off. */
export interface CutOffOutput {
  /** The action that started the call. */
  action_id: ActionId;
  /** The end of the recorded output, as a terminal would show it: 16 KiB at most. */
  text: string;
  /** The number of bytes before `text` that are left out. */
  left_out?: number;
}

/** The session continues from a point in another one. */
export interface SessionForked {
  /** The other one. */
  parent: SessionId;
  /** The last event that both have. */
  at_seq: number;
  /** Whether queued inputs keep waiting until a person sends a message, as with `interrupt_requested`. */
  hold?: boolean;
}

/**
 * The session was read from a document up to this event. Work in progress in the original is not
 * continued, and queued inputs wait until a person sends a message, as with `interrupt_requested`.
 */
export interface SessionImported {
  /**
   * The directory in which all agents of the session work from now on, whatever the document says;
   * absent in logs older than this field.
   */
  workspace?: string | null;
}

/** The session has a title. */
export interface SessionTitled {
  /** The title shown in lists. */
  title: string;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** Texts were taken out of the session. */
export interface SessionRedacted {
  /** The names of what was taken out, without the values. */
  names: string[];
  /** The segments in which events were replaced. */
  segments: RedactedSegment[];
  /**
   * The hashes of the contents that were removed although events still name them, in hexadecimal:
   * contents of files, which are of use only unchanged. Empty in records of earlier versions.
   */
  dropped?: string[];
}

/** A segment of the log in which events were replaced. */
export interface RedactedSegment {
  /** Its first event. */
  first_seq: number;
  /** Its last event. */
  last_seq: number;
  /** The hash at its end before, in hexadecimal: the chain goes on from it. */
  hash: string;
  /** The hash of what is stored now, in hexadecimal. */
  redacted_hash: string;
  /** The events that were replaced. */
  events: number[];
  /** The forks that continue from an event inside the segment, with the hash from which their chains begin. */
  forks?: ForkPoint[];
}

/** An event from which a fork continues. */
export interface ForkPoint {
  /** The last event that both have. */
  seq: number;
  /** The hash of everything up to it before the redaction, in hexadecimal. */
  hash: string;
}

/** The driver changed. */
export interface WheelChanged {
  /** The driver; `None` if there is none. */
  seat?: Seat | null;
  /** Counts the changes, from 1; frames of an earlier driver are refused. */
  epoch: number;
  /** The reason. */
  reason: WheelReason;
}

/** The role of a person changed. */
export interface AccessChanged {
  /** The person. */
  person: OwnerId;
  /** The new role; `None` for none. */
  role?: SessionRole | null;
  /** The person who changed it, if it was not the session's owner. */
  by?: OwnerId | null;
}

/** A person has files put back. */
export interface FilesRestoring {
  /** Files are to be as they were before this event. */
  to_seq: number;
  /** The files, each with its content before and after. */
  files: FileReplaced[];
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A file that is put back. */
export interface FileReplaced {
  /** The absolute path, without links. */
  path: string;
  /** The file before the restore; `None` if it did not exist. */
  was?: FileImage | null;
  /** The file after the restore; `None` if it is removed. */
  becomes?: FileImage | null;
}

/** A file as it was at some time. Its bytes are a blob. */
export interface FileImage {
  /** The content. */
  blob: BlobId;
  /** The permissions, as Unix numbers them, if they are known. */
  mode?: number | null;
}

/** Files were put back, all but those that are named. */
export interface FilesRestored {
  /** The `files_restoring` that this ends. */
  restoring: number;
  /** The files that were not restored. */
  failed?: FileFailed[];
}

/** A file that could not be put back. */
export interface FileFailed {
  /** The path. */
  path: string;
  /** The reason why it was not restored. */
  what: string;
}

/** The session is over. */
export interface SessionClosed {
  /** The reason. */
  reason: string;
}

/** The agent's configuration changes. */
export interface ConfigChanged {
  /** The change. */
  change: ConfigChange;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A change of an agent's configuration while its session continues. */
export type ConfigChange =
  | { model: ModelSpec }
  | { fallbacks: ModelSpec[] }
  | { params: ModelParams }
  | { limits: Limits }
  | { approval: ApprovalMode }
  | { rule_added: Rule }
  | { rules: Rule[] }
  | { tools: ToolSpec[] }
  | { instructions: Instructions[] }
  | { condensing: Condensing | null }
  | { rules_version: number }
  | { guard: Guard | null }
  | { server_rules: ServerRules | null }
  | { plan_mode: boolean };

/** An agent comes into being. */
export interface AgentSpawned {
  /** The agent's id. */
  agent_state_id: AgentStateId;
  /** The agent that made it. */
  parent: AgentStateId;
  /** The agent's configuration. */
  config: AgentConfig;
}

/** An agent is gone. */
export interface AgentClosed {
  /** The agent. */
  agent_state_id: AgentStateId;
  /** The reason. */
  reason: string;
}

/** A person pins or unpins an input: a pinned input stays when the conversation is condensed. */
export interface InputPinned {
  /** The input. */
  message_id: MessageId;
  /** Whether it stays. */
  pinned: boolean;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A person requests that the conversation be condensed now. */
export interface CondenseRequested {
  /** The required content of the summary, in the person's words. */
  instructions?: string | null;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A service has built context for a run, or could not. The `cause` is the action that asked for it. */
export interface ContextBuilt {
  /** The name of the source. */
  source: string;
  /** The text as the model reads it; empty if there is nothing to say. */
  text?: string;
  /** The items in the text. */
  items?: ContextItem[];
  /**
   * A part of the standing instructions from now on, in place of the one that this source gave before;
   * empty to remove that, absent to leave it.
   */
  instructions?: string | null;
  /** Text around the input of the run. */
  wrapping?: InputWrapping | null;
  /** The reason why nothing could be built, for people. The run continues without it. */
  problem?: string | null;
}

/** An item of a built context. */
export interface ContextItem {
  /** The id of the item in its source. A changed item has another id. */
  id: string;
  /** Its origin: `session:seq`, if it comes from a session. */
  origin?: string | null;
}

/**
 * Text around an input, as the model reads it. A closing tag in `after` is made harmless where the input has
 * it, so that no pasted text can end the wrapping early.
 */
export interface InputWrapping {
  /** The text before the input. */
  before: string;
  /** The text after it. */
  after: string;
}

/** An analyzer has assessed a call. The `cause` is the action that asked for it. */
export interface RiskAssessed {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The name of the analyzer. */
  analyzer: string;
  /** The risk. */
  risk: SecurityRisk;
  /** The reason, for people. */
  reason: string;
  /** The proposed decision, if the analyzer is a judge. */
  decision?: JudgeDecision | null;
  /** The cost, if a model was asked. */
  bill?: EffectBill | null;
}

/** The decision that an analyzer proposes, if it is a judge. They are ordered: the strictest is the last. */
export type JudgeDecision = "allow" | "ask" | "refuse";

/** A model was asked what to remember, or could not be. The `cause` is the action that asked for it. */
export interface MemoriesProposed {
  /** The new proposals, each with its origin. */
  items?: ContextItem[];
  /** The reason why there are none, or not all, for people. */
  problem?: string | null;
  /** The cost of the answer. */
  bill?: EffectBill | null;
}

/** A range of the conversation is represented by a summary; the range itself stays in the log. */
export interface ContextCondensed {
  /** The first event of the range. */
  from_seq: number;
  /** The last event of the range. */
  to_seq: number;
  /** The summary. */
  summary: string;
  /** Messages in the range that stay as they are. */
  kept?: MessageId[];
  /** The cost of the summary. */
  bill?: EffectBill | null;
  /**
   * The tools whose results in the range the text of `summary` masks; everything else in the range
   * stays. None for a summary.
   */
  masked?: string[];
}

/** A summary failed; the conversation stays as it is. */
export interface CondensingFailed {
  /** The stable code for programs: that of the model's error, `interrupted`, `refused`, `no_summary`, … */
  code: string;
  /** The message for people. */
  message: string;
  /** The cost of the failed attempt. */
  bill?: EffectBill | null;
}

/** A condensed range is restored, together with later summaries that contain it. */
export interface ContextRestored {
  /** The first event of the range. */
  from_seq: number;
  /** The last event of the range. */
  to_seq: number;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A run was stopped from outside. */
export interface Interrupted {
  /** The reason. */
  reason: string;
}

/** Something went wrong that ends the run. */
export interface ErrorOccurred {
  /** The code for programs; it is stable. */
  code: string;
  /** The message for people. */
  message: string;
  /** Whether the session can continue. */
  recoverable: boolean;
}

/** An event with its context. */
export type RuntimeFrame = Frame & RuntimeEvent;

export type RuntimeEvent =
  | { event: "message_start"; payload: MessageStart }
  | { event: "fallback_answers"; payload: FallbackAnswers }
  | { event: "text_delta"; payload: TextDelta }
  | { event: "thinking_delta"; payload: ThinkingDelta }
  | { event: "tool_call"; payload: ToolCallRequested }
  | { event: "tool_result"; payload: ToolCallAnswered }
  | { event: "message_stop"; payload: MessageStop }
  | { event: "interrupted"; payload: RunInterrupted }
  | { event: "tool_planned"; payload: ToolPlanned }
  | { event: "tool_executing"; payload: ToolExecuting }
  | { event: "tool_output"; payload: ToolOutput }
  | { event: "tool_completed"; payload: ToolCompleted }
  | { event: "tool_failed"; payload: ToolFailed }
  | { event: "job_finished"; payload: JobFinished }
  | { event: "command_finished"; payload: CommandFinished }
  | { event: "conversation_queued"; payload: ConversationQueued }
  | { event: "conversation_revised"; payload: ConversationRevised }
  | { event: "conversation_start"; payload: ConversationStart }
  | { event: "conversation_thinking"; payload: ConversationThinking }
  | { event: "conversation_responding"; payload: ConversationResponding }
  | { event: "conversation_end"; payload: ConversationEnd }
  | { event: "conversation_interrupted"; payload: ConversationInterrupted }
  | { event: "agent_started"; payload: AgentStarted }
  | { event: "agent_ready"; payload: AgentReady }
  | { event: "agent_destroyed"; payload: AgentDestroyed }
  | { event: "session_created"; payload: SessionCreated }
  | { event: "session_resumed"; payload: SessionResumed }
  | { event: "session_updated"; payload: SessionUpdated }
  | { event: "session_forked"; payload: ForkCreated }
  | { event: "session_deleted"; payload: SessionDeleted }
  | { event: "connection_established"; payload: ConnectionEstablished }
  | { event: "connection_lost"; payload: ConnectionLost }
  | { event: "reconnecting"; payload: Reconnecting }
  | { event: "heartbeat"; payload: Heartbeat }
  | { event: "error"; payload: ErrorRaised }
  | { event: "run_started"; payload: RunStarted }
  | { event: "run_status"; payload: RunStatusChanged }
  | { event: "run_finished"; payload: RunFinished }
  | { event: "context_changed"; payload: ContextChanged }
  | { event: "loop_detected"; payload: LoopDetected }
  | { event: "approval_requested"; payload: ApprovalRequested }
  | { event: "approval_settled"; payload: ApprovalSettled }
  | { event: "chunk"; payload: Chunk }
  | { event: "eof"; payload: Eof }
  | { event: "closed"; payload: Closed }
  | { event: "user_message"; payload: UserMessageAdded }
  | { event: "assistant_message"; payload: AssistantMessageAdded }
  | { event: "tool_call_message"; payload: ToolCallMessageAdded }
  | { event: "tool_result_message"; payload: ToolResultMessageAdded }
  | { event: "turn_request"; payload: TurnRequest }
  | { event: "turn_response"; payload: TurnResponse };

/** A model begins an answer. */
export interface MessageStart {
  /** The answer's id. */
  message_id: MessageId;
  /** The model as the provider names it. */
  model: string;
  /** The number of the attempt, from 1. */
  attempt: number;
}

/** The provider lets another model continue the answer. */
export interface FallbackAnswers {
  /** The answer's id. */
  message_id: MessageId;
  /** The model that answers from now on, as the provider names it. */
  model: string;
  /** The prices; absent if the catalog does not know the model. */
  prices?: Prices | null;
}

/** Words of the answer. */
export interface TextDelta {
  /** The text as it arrived. */
  text: string;
}

/** Words of the reasoning. */
export interface ThinkingDelta {
  /** The text as it arrived. */
  text: string;
}

/** The model asks for a tool. */
export interface ToolCallRequested {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments. */
  input: unknown;
}

/** The model will read this about its call. */
export interface ToolCallAnswered {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The text that the model reads. */
  result: ContentPart[];
  /** Whether as a failure. */
  is_error: boolean;
}

/** The answer has ended. */
export interface MessageStop {
  /** The answer's id. */
  message_id: MessageId;
  /** The reason. */
  stop_reason: StopReason;
  /** The tokens of the call. */
  usage: Usage;
}

/** A run was stopped from outside. */
export interface RunInterrupted {
  /** The reason. */
  reason: string;
}

/** The model has begun to ask for a tool. */
export interface ToolPlanned {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
}

/** The tool runs. */
export interface ToolExecuting {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments. */
  input: unknown;
}

/** The tool writes output while it runs. */
export interface ToolOutput {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The channel of the output. */
  channel: OutputChannel;
  /** The output. */
  text: string;
}

/** The tool succeeded. */
export interface ToolCompleted {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** Milliseconds that it ran; 0 if it never ran. */
  duration_ms: number;
  /** For people and programs: exit code, diff, … */
  details?: unknown;
}

/** The tool failed. */
export interface ToolFailed {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The outcome. */
  status: ToolStatus;
  /** The beginning of the text for the model. */
  error: string;
  /** Milliseconds that it ran; 0 if it never ran. */
  duration_ms: number;
  /** For people and programs. */
  details?: unknown;
}

/** A command in the background has ended by itself, or because a person ended it. */
export interface JobFinished {
  /** The job's name in the session. */
  job: string;
  /** The command line, shortened if it is long. */
  command: string;
  /** The outcome as text: `exit 0, 3.20 s`. */
  how: string;
}

/** A command that a person ran outside the conversation has ended. */
export interface CommandFinished {
  /** The command line. */
  command: string;
  /** The output; of a long output the beginning and the end. */
  output: string;
  /** The outcome as text: `exit 0`. */
  how: string;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** An input waits. */
export interface ConversationQueued {
  /** The input. */
  message_id: MessageId;
  /** The number of waiting inputs with mode `queue`, including this one. */
  position: number;
}

/** A queued input was taken back, or got another mode. */
export interface ConversationRevised {
  /** The input. */
  message_id: MessageId;
  /** The new mode; absent if the input is taken back. */
  mode?: InputMode | null;
}

/** An input is taken up. */
export interface ConversationStart {
  /** The input, if a person gave it. */
  message_id: MessageId;
}

/** The model was called. */
export type ConversationThinking = Record<string, never>;

/** The first words of an answer. */
export type ConversationResponding = Record<string, never>;

/** The last answer was given. */
export interface ConversationEnd {
  /** The last stop reason or the code of the error. */
  reason: string;
}

/** Stopped. */
export interface ConversationInterrupted {
  /** The reason. */
  reason: string;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** An agent exists. */
export interface AgentStarted {
  /** The name shown to people. */
  name: string;
  /** The agent that made it; absent for the one that people talk to. */
  parent?: AgentStateId | null;
  /** Whether it gives each input to one of its agents. */
  routes?: boolean;
}

/** An agent takes input. */
export type AgentReady = Record<string, never>;

/** An agent is gone. */
export interface AgentDestroyed {
  /** The reason. */
  reason: string;
}

/** A session begins. */
export interface SessionCreated {
  /** The model it begins with. */
  model: string;
  /** The directory it works in. */
  workspace: string;
}

/** A session continues in another process. */
export interface SessionResumed {
  /** The number of its writers so far. */
  epoch: number;
  /** Commands that the previous process left running and this one ended. */
  ended?: LeftRunning[];
}

/** Title or configuration changed. */
export interface SessionUpdated {
  /** The change. */
  change: SessionChange;
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** A change of a session. */
export type SessionChange =
  | { title: string }
  | { config: string }
  | "condensed"
  | { wheel: WheelChanged }
  | { access: AccessChanged };

/** The session continues from another one. */
export interface ForkCreated {
  /** The other one. */
  parent: SessionId;
  /** The last event that both have. */
  at_seq: number;
}

/** The session is over. */
export interface SessionDeleted {
  /** The reason. */
  reason: string;
}

/** A transport is up. */
export interface ConnectionEstablished {
  /** The other side, without secrets. */
  endpoint: string;
}

/** A transport is down. */
export interface ConnectionLost {
  /** The address. */
  endpoint: string;
  /** The reason. */
  reason?: string | null;
}

/** The attempt will be repeated. */
export interface Reconnecting {
  /** The other side, without secrets. */
  endpoint: string;
  /** Milliseconds until then. */
  retry_in_ms: number;
}

/** A sign of life. */
export type Heartbeat = Record<string, never>;

/** Something went wrong. */
export interface ErrorRaised {
  /** The code for programs; it is stable. */
  code: string;
  /** The message for people. */
  message: string;
  /** Whether the session can continue. */
  recoverable: boolean;
  /** Milliseconds until the next automatic attempt; `None` if there is none. */
  retry_in_ms?: number | null;
  /** Milliseconds after which it gives up, if time bounds the attempts. */
  gives_up_in_ms?: number | null;
  /** The HTTP status, if a model server answered with one. */
  status?: number | null;
}

/** A run begins. */
export interface RunStarted {
  /** The run. */
  run_id: RunId;
  /** The input that it answers. */
  message_id: MessageId;
}

/** A run is in another state. */
export interface RunStatusChanged {
  /** The run. */
  run_id: RunId;
  /** The status of the run. */
  status: RunStatus;
  /** The number of times that the model was answered with tool results. */
  iterations: number;
}

/** The status of a run. */
export type RunStatus = "pending" | "building_context" | "awaiting_llm" | "awaiting_approval" | "awaiting_tool" | "stopping" | "completed" | "failed" | "timed_out" | "interrupted";

/** A run has ended. */
export interface RunFinished {
  /** The run. */
  run_id: RunId;
  /** The new status. */
  status: RunStatus;
  /** The reason, unless it is `completed`. */
  reason?: string | null;
  /** The number of times that the model was answered with tool results. */
  iterations: number;
}

/** The part of the conversation that a model reads changed, or could not be changed. */
export interface ContextChanged {
  /** The change. */
  change: ContextChange;
}

/** A change of the part of a conversation that a model reads. */
export type ContextChange =
  | { condensing: ContextRange }
  | { condensed: ContextRange }
  | { failed: { code: string; message: string } }
  | { restored: ContextRange }
  | { repaired: RequestPart }
  | { tools_left_out: { tools: string[] } }
  | { cut: { window: number; assumed: number } }
  | { built: { source: string; items?: ContextItem[]; problem?: string | null } }
  | { proposed: { items?: ContextItem[]; problem?: string | null } }
  | { fell_back: { from: string; to: string; code: string; message: string; unpriced?: boolean } }
  | { shortened: { window: number } }
  | { window_guessed: { window: number; before: number; fixed?: boolean } };

/** A range of the conversation, and its size. */
export interface ContextRange {
  /** The first event of the range. */
  from_seq: number;
  /** The last event of the range. */
  to_seq: number;
  /** The number of messages that a summary represents. */
  messages: number;
  /** The tokens of the messages, estimated. */
  tokens: number;
  /** Tokens of their summary, estimated; 0 if it does not exist yet. */
  summary_tokens: number;
}

/** An agent repeats itself. */
export interface LoopDetected {
  /** The kind of loop. */
  kind: LoopKind;
  /** The number of repetitions so far. */
  times: number;
  /** The tools of the calls that repeat, in their order; empty if the loop has no calls. */
  tools?: string[];
  /** The action that follows. */
  response: LoopResponse;
  /** The loop in a sentence, for people. */
  message: string;
}

/** A kind of loop. */
export type LoopKind = "error" | "repetition" | "alternation" | "near_repetition" | "changing_error" | "recurring_error" | "monologue" | "context_window" | "unknown";

/** The response to an agent that repeats itself. */
export type LoopResponse = "nudge" | "question" | "stop" | "unknown";

/** A person has to decide about a call. */
export interface ApprovalRequested {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments. */
  input: unknown;
  /** The rule or default that asks. */
  reason: string;
  /** The rule that `session` or `always` would keep. */
  suggested: Rule;
  /**
   * For a question to a person: the JSON Schema of the answer. The note of an `approval` with `once`
   * is the answer, as text.
   */
  form?: unknown;
  /**
   * Set if the call is a question of the model to the person: then the note of the approval is the
   * answer.
   */
  question?: AskedQuestion | null;
}

/**
 * A question of the model to the person, as every front end shows it. It is answered by an approval: `once`
 * with the answer as its note, or `deny` for no answer.
 */
export interface AskedQuestion {
  /** The words of the question, as the model wrote them: they may hold control characters. */
  question: string;
  /** Answers to choose from; none for free text. An answer in other words counts too. */
  choices?: string[];
  /**
   * Whether the question is a plan, as Markdown. It is accepted by the answer [`ACCEPT_PLAN`]; any other
   * answer says what to change. A front end switches plan mode off before it sends that answer.
   */
  is_plan?: boolean;
}

/**
 * The question about a call that a tool wants to make is answered. For calls of the model, their own
 * events report it.
 */
export interface ApprovalSettled {
  /** The call. */
  tool_call_id: ToolCallId;
  /** Whether the call may be made. If not, a person or a later rule denied it, or the run was stopped. */
  allowed: boolean;
}

/** A whole piece of an agent's output stream. */
export interface Chunk {
  /** The medium. */
  medium: Medium;
  /** The piece; if a script emitted something else than words, its JSON text. */
  text: string;
  /** The value that a script emitted, if it is more than text. */
  data?: unknown;
  /** The call whose tool emits it; absent if the agent itself does. */
  tool_call_id?: ToolCallId | null;
}

/** The end of the answer to this input. */
export interface Eof {
  /** The run that has ended. */
  run_id: RunId;
}

/** The stream has finally ended. */
export interface Closed {
  /** The reason. */
  reason: string;
}

/** An input joined the conversation. */
export interface UserMessageAdded {
  /** The message. */
  message: Message;
}

/** An entry of a conversation. */
export interface Message {
  /** Unique in its session. */
  message_id: MessageId;
  /** The speaker. */
  role: Role;
  /** The content, in order. */
  content: ContentPart[];
  /** The person, if not the session's owner. */
  by?: OwnerId | null;
}

/** The speaker of a message. */
export type Role = "system" | "user" | "assistant" | "tool";

/** The model's answer, whole. */
export interface AssistantMessageAdded {
  /** The message. */
  message: Message;
  /** Whether the stream broke off before its end. */
  partial?: boolean;
}

/** The calls in an answer. */
export interface ToolCallMessageAdded {
  /** The answer that they are in. */
  message_id: MessageId;
  /** The calls. */
  tool_call_ids: ToolCallId[];
}

/** The outcome of a call joined the conversation. */
export interface ToolResultMessageAdded {
  /** The message. */
  message: Message;
}

/** A person's request. */
export interface TurnRequest {
  /** The run that answers the input. */
  run_id: RunId;
  /** The text of the input. */
  text: string;
}

/** The answer to it. */
export interface TurnResponse {
  /** The run. */
  run_id: RunId;
  /** The last answer, as text. */
  text: string;
  /**
   * Milliseconds from the start of the run to its end, without the time in which no program continued
   * it or, from version 9 of the rules on, it waited for the answer of a person.
   */
  duration_ms: number;
  /** Tokens of all its model calls. */
  usage: Usage;
  /** Money of all its model calls. */
  cost: NanoUsd;
  /** The number of model calls. */
  model_calls: number;
}

/** An event with its context. */
export type UiFrame = Frame & UiEvent;

export type UiEvent =
  | { event: "run_started"; payload: UiRunStarted }
  | { event: "text_chunk"; payload: UiTextChunk }
  | { event: "tool_call_started"; payload: UiToolCallStarted }
  | { event: "tool_call_finished"; payload: UiToolCallFinished }
  | { event: "approval_requested"; payload: UiApprovalRequested }
  | { event: "run_finished"; payload: UiRunFinished }
  | { event: "error"; payload: UiError }
  | { event: "command_result"; payload: UiCommandResult }
  | { event: "connection_state"; payload: UiConnectionState };

/** A run begins. */
export interface UiRunStarted {
  /** The owner of the session. */
  owner_key: OwnerId;
  /** The text of the input. */
  user_input: string;
}

/** A piece of the answer. */
export interface UiTextChunk {
  /** The words. */
  chunk: string;
  /** `assistant`. */
  role?: string | null;
  /** Whether the answer ends here. */
  is_final?: boolean | null;
}

/** A tool runs. */
export interface UiToolCallStarted {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  tool_name: string;
  /** The arguments. */
  args: unknown;
}

/** The call has ended. */
export interface UiToolCallFinished {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  tool_name: string;
  /** The outcome. */
  status: UiToolStatus;
  /** The text for the model. */
  result: string;
}

/** The outcome of a tool call, for simple clients. */
export type UiToolStatus = "success" | "error";

/** A person has to decide about a call. */
export interface UiApprovalRequested {
  /** The call. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  tool_name: string;
  /** The arguments. */
  args: unknown;
  /** The rule or default that asks. */
  reason: string;
  /**
   * Set if the call is a question of the model to the person: then the note of the approval is the
   * answer.
   */
  question?: AskedQuestion | null;
}

/** A run has ended. */
export interface UiRunFinished {
  /** `completed`, `failed`, `timed_out` or `interrupted`. */
  status: string;
}

/** Something went wrong. */
export interface UiError {
  /** The message for people. */
  message: string;
  /** More about it: its code. */
  details?: unknown;
}

/** A command was carried out. */
export interface UiCommandResult {
  /** The name of the command. */
  command: string;
  /** The outcome. */
  result: UiResult;
}

/** The outcome of a command. */
export interface UiResult {
  /** The outcome. */
  status: UiToolStatus;
  /** The message for people. */
  message: string;
  /** The data for programs. */
  data?: unknown;
}

/** The owner of the session and its reader. */
export interface UiConnectionState {
  /** Whether the reader is anonymous. */
  visitor: boolean;
}

/** A person as a server knows them. */
export interface Person {
  /** The person's id. */
  person: OwnerId;
  /** Their name, if the server has one. */
  name?: string | null;
  /** Whether they are anonymous. */
  visitor: boolean;
}
