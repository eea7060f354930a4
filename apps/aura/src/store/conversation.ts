// The state of a session as the page shows it: plain data, made by `fold` from frames alone.
import type {
  ApprovalRequested,
  ContentPart,
  InputMode,
  LoopDetected,
  OutputChannel,
  RunStatus,
  ToolStatus,
  Usage,
} from "../protocol";

/** Everything that follows from the frames of a session. */
export interface Conversation {
  /** The place of the last frame. */
  seq: number;
  index: number;
  /** The time of the last frame: microseconds since 1970. */
  at: number;
  title: string;
  model: string;
  workspace: string;
  /** The agent that people talk to. */
  root: string | null;
  agents: Record<string, Agent>;
  calls: Record<string, Call>;
  run: Run | null;
  /** What the agent does now, in more detail than the status of its run. */
  activity: Activity;
  /** Calls and questions about which a person has to decide, in order. */
  questions: Question[];
  queued: Queued[];
  usage: Usage;
  /** Billionths of a dollar. */
  cost: number;
  modelCalls: number;
  loop: LoopDetected | null;
}

/** An agent, and what it said. */
export interface Agent {
  id: string;
  name: string;
  parent: string | null;
  isGone: boolean;
  items: Item[];
}

export interface Run {
  id: string;
  status: RunStatus;
  iterations: number;
  startedAt: number;
  endedAt: number | null;
  reason: string | null;
}

export type Activity =
  | { kind: "idle" }
  | { kind: "thinking" }
  | { kind: "writing" }
  | { kind: "waiting"; code: string; message: string; until: number | null };

export interface Queued {
  id: string;
  seq: number;
  mode: InputMode;
}

/** An entry of the conversation. */
export type Item =
  | { kind: "input"; key: string; seq: number; at: number; content: ContentPart[]; by: string | null }
  | AnswerItem
  | TurnItem
  | { kind: "agent"; key: string; seq: number; agent: string }
  | NoteItem;

export interface AnswerItem {
  kind: "answer";
  key: string;
  seq: number;
  at: number;
  id: string;
  model: string;
  parts: Part[];
  isOpen: boolean;
  /** It was cut off, and asked for again. */
  isCutOff: boolean;
  /** Why it ended; `cut_off` if its stream broke off. */
  stop: string | null;
}

export type Part =
  | { kind: "text"; text: string }
  | { kind: "thinking"; text: string; since: number; until: number }
  | { kind: "call"; call: string };

/** The end of a run: what it took. */
export interface TurnItem {
  kind: "turn";
  key: string;
  seq: number;
  status: RunStatus;
  reason: string | null;
  duration_ms: number | null;
  usage: Usage | null;
  cost: number | null;
}

/** Something that happened beside the conversation. The page has the words. */
export interface NoteItem {
  kind: "note";
  key: string;
  seq: number;
  note: Note;
}

export type Note =
  | { code: "interrupted"; reason: string; by: string | null }
  | { code: "error"; error: string; message: string }
  | { code: "loop"; message: string }
  | { code: "condensed"; messages: number }
  | { code: "condensing_failed"; message: string }
  | { code: "fell_back"; from: string; to: string }
  | { code: "job"; command: string; how: string }
  | { code: "command"; command: string; output: string; how: string; by: string | null }
  | { code: "forked"; parent: string; at_seq: number }
  | { code: "resumed" }
  | { code: "closed"; reason: string };

export type CallState = "planned" | "asked" | "running" | "done" | "failed";

export interface Call {
  id: string;
  name: string;
  input: unknown;
  state: CallState;
  status: ToolStatus | null;
  output: Output[];
  result: ContentPart[] | null;
  error: string | null;
  details: unknown;
  startedAt: number | null;
  duration_ms: number | null;
}

export interface Output {
  channel: OutputChannel;
  text: string;
}

export interface Question extends ApprovalRequested {
  seq: number;
  at: number;
  agent: string | null;
}

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0 };

/** A session of which nothing is known yet. */
export const EMPTY: Conversation = {
  seq: 0,
  index: -1,
  at: 0,
  title: "",
  model: "",
  workspace: "",
  root: null,
  agents: {},
  calls: {},
  run: null,
  activity: { kind: "idle" },
  questions: [],
  queued: [],
  usage: NO_USAGE,
  cost: 0,
  modelCalls: 0,
  loop: null,
};

/** How a session stands, in one word. */
export type Standing =
  | "empty"
  | "idle"
  | "building_context"
  | "thinking"
  | "writing"
  | "calling"
  | "approval"
  | "question"
  | "limit"
  | "stopping"
  | "done"
  | "failed"
  | "timed_out"
  | "interrupted"
  | "stuck";

/** Returns how the session stands. */
export function standing(state: Conversation): Standing {
  const { run } = state;
  const first = state.questions[0];
  if (first) return first.question || first.form ? "question" : "approval";
  if (!run) return state.seq === 0 ? "empty" : "idle";
  if (state.activity.kind === "waiting" && run.endedAt === null) return "limit";
  switch (run.status) {
    case "pending":
      return "thinking";
    case "building_context":
      return "building_context";
    case "awaiting_llm":
      return state.activity.kind === "writing" ? "writing" : "thinking";
    case "awaiting_approval":
      return "approval";
    case "awaiting_tool":
      return "calling";
    case "stopping":
      return "stopping";
    case "completed":
      return "done";
    case "failed":
      return run.reason === "stuck" || state.loop?.response === "stop" ? "stuck" : "failed";
    case "timed_out":
      return "timed_out";
    case "interrupted":
      return "interrupted";
    default:
      return "idle";
  }
}

/** Whether something goes on that a person can stop. */
export function isBusy(state: Conversation): boolean {
  return state.run !== null && state.run.endedAt === null;
}

/** The tool that runs now, for the line about the state. */
export function runningCalls(state: Conversation): Call[] {
  return Object.values(state.calls).filter((call) => call.state === "running");
}
