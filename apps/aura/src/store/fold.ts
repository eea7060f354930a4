// The one reducer of the page: (state, frames) → state. It reads no clock, stores nothing and asks nobody, so
// that the same frames give the same state live, after a reload, without the server and on the slider.
import { isRun, joined, type Packed, type PackedRun } from "../connection/packed";
import type { ContentPart, Message, RuntimeFrame, Usage } from "../protocol";
import type { Agent, AnswerItem, Call, Conversation, Item, Note, Part, TurnItem } from "./conversation";

/** Returns the state after further frames. The state before is not changed. */
export function fold(before: Conversation, entries: readonly Packed[]): Conversation {
  if (entries.length === 0) return before;
  const draft = new Draft(before);
  for (const entry of entries) {
    if (isRun(entry)) applyRun(draft, entry, entry.ends.length);
    else apply(draft, entry);
  }
  return draft.state;
}

/** Returns the state after the first frames of a run. */
export function foldRun(before: Conversation, run: PackedRun, count: number): Conversation {
  const draft = new Draft(before);
  applyRun(draft, run, count);
  return draft.state;
}

/** Applies the first frame, which may begin something, and the others at once, which continue it. */
function applyRun(draft: Draft, run: PackedRun, count: number): void {
  apply(draft, joined(run, 0, 1));
  if (count > 1) apply(draft, joined(run, 1, count));
}

/** A state that is being made: parts of the state before are copied when they are first changed. */
class Draft {
  readonly state: Conversation;
  private readonly own = new WeakSet<object>();

  constructor(before: Conversation) {
    this.state = { ...before };
  }

  /** Returns the list under that name, to be changed. */
  list<K extends "questions" | "queued">(name: K): Conversation[K] {
    const list = this.state[name];
    if (this.own.has(list)) return list;
    const copy = [...list] as Conversation[K];
    this.own.add(copy);
    this.state[name] = copy;
    return copy;
  }

  agent(id: string): Agent {
    const agents = this.mine(this.state.agents, (copy) => (this.state.agents = copy));
    let agent = agents[id];
    if (!agent || !this.own.has(agent)) {
      agent = agent
        ? { ...agent, items: [...agent.items] }
        : { id, name: "", parent: null, isGone: false, items: [] };
      this.own.add(agent);
      agents[id] = agent;
    }
    return agent;
  }

  call(id: string, name = ""): Call {
    const calls = this.mine(this.state.calls, (copy) => (this.state.calls = copy));
    let call = calls[id];
    if (!call || !this.own.has(call)) {
      call = call ? { ...call, output: [...call.output] } : newCall(id, name);
      this.own.add(call);
      calls[id] = call;
    }
    if (name) call.name = name;
    return call;
  }

  /** Returns the item of this answer, to be changed. */
  answer(agent: Agent, at: number): AnswerItem | null {
    const item = agent.items[at];
    if (item?.kind !== "answer") return null;
    if (this.own.has(item)) return item;
    const copy = { ...item, parts: [...item.parts] };
    this.own.add(copy);
    agent.items[at] = copy;
    return copy;
  }

  /** Returns the last part of an answer, to be changed. */
  lastPart(answer: AnswerItem): Part | null {
    const at = answer.parts.length - 1;
    const part = answer.parts[at];
    if (!part) return null;
    if (this.own.has(part)) return part;
    const copy = { ...part };
    this.own.add(copy);
    answer.parts[at] = copy;
    return copy;
  }

  private mine<T extends object>(value: T, set: (copy: T) => void): T {
    if (this.own.has(value)) return value;
    const copy = { ...value };
    this.own.add(copy);
    set(copy);
    return copy;
  }
}

function newCall(id: string, name: string): Call {
  return {
    id,
    name,
    input: undefined,
    state: "planned",
    status: null,
    output: [],
    result: null,
    error: null,
    details: undefined,
    startedAt: null,
    duration_ms: null,
  };
}

/** Output of a call that is kept for the screen; the whole of it is in the log. */
const OUTPUT_CHARS = 200_000;

function apply(draft: Draft, frame: RuntimeFrame): void {
  const { state } = draft;
  state.seq = frame.seq;
  state.index = frame.index ?? 0;
  state.at = frame.at;
  const id = frame.agent_state_id ?? state.root;
  switch (frame.event) {
    case "session_created":
      state.model = frame.payload.model;
      state.workspace = frame.payload.workspace;
      break;
    case "agent_started":
      started(draft, frame.agent_state_id ?? "", frame.payload, frame.seq);
      break;
    case "agent_destroyed":
      if (id) draft.agent(id).isGone = true;
      break;
    case "session_updated":
      if (typeof frame.payload.change === "object" && "title" in frame.payload.change) {
        state.title = frame.payload.change.title;
      }
      break;
    case "session_forked":
      note(draft, id, frame, { code: "forked", parent: frame.payload.parent, at_seq: frame.payload.at_seq });
      break;
    case "session_resumed":
      cutOff(draft);
      break;
    case "session_deleted":
      note(draft, id, frame, { code: "closed", reason: frame.payload.reason });
      break;
    case "connection_lost":
    case "connection_established":
    case "reconnecting":
    case "heartbeat":
    case "agent_ready":
    case "chunk":
    case "eof":
    case "closed":
    case "tool_call_message":
    case "turn_request":
      break;
    default:
      if (id) ofAgent(draft, draft.agent(id), frame);
  }
}

/** Applies what an agent says or does. */
function ofAgent(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  switch (frame.event) {
    case "user_message":
      input(draft, agent, frame.payload.message, frame);
      break;
    case "conversation_queued":
      draft.list("queued").push({ id: frame.payload.message_id, seq: frame.seq, mode: "queue" });
      break;
    case "conversation_revised":
      revised(draft, frame.payload.message_id, frame.payload.mode ?? null);
      break;
    case "conversation_start":
      unqueue(draft, frame.payload.message_id);
      break;
    case "message_start":
      begin(draft, agent, frame.payload, frame);
      break;
    case "text_delta":
    case "thinking_delta":
      words(draft, agent, frame);
      break;
    case "message_stop":
      stop(draft, agent, frame.payload);
      break;
    case "assistant_message":
      whole(draft, agent, frame.payload.message, frame.payload.partial ?? false, frame);
      break;
    case "fallback_answers": {
      const answer = draft.answer(agent, agent.items.length - 1);
      if (answer) answer.model = frame.payload.model;
      break;
    }
    case "loop_detected":
      draft.state.loop = frame.payload;
      note(draft, agent.id, frame, { code: "loop", message: frame.payload.message });
      break;
    case "context_changed":
      contextChanged(draft, agent, frame);
      break;
    case "job_finished":
      note(draft, agent.id, frame, { code: "job", command: frame.payload.command, how: frame.payload.how });
      break;
    case "command_finished":
      note(draft, agent.id, frame, { code: "command", ...frame.payload, by: frame.payload.by ?? null });
      break;
    case "error":
      failed(draft, agent, frame);
      break;
    case "run_started":
    case "run_status":
    case "run_finished":
    case "turn_response":
    case "conversation_thinking":
    case "conversation_responding":
    case "conversation_end":
    case "conversation_interrupted":
      ofRun(draft, agent, frame);
      break;
    default:
      ofCall(draft, agent, frame);
  }
}

function started(
  draft: Draft,
  id: string,
  payload: { name: string; parent?: string | null },
  seq: number,
): void {
  const agent = draft.agent(id);
  agent.name = payload.name;
  agent.parent = payload.parent ?? null;
  agent.isGone = false;
  if (payload.parent) {
    draft.agent(payload.parent).items.push({ kind: "agent", key: `${seq}-${id}`, seq, agent: id });
  } else {
    draft.state.root ??= id;
  }
}

function input(draft: Draft, agent: Agent, message: Message, frame: RuntimeFrame): void {
  unqueue(draft, message.message_id);
  agent.items.push({
    kind: "input",
    key: message.message_id,
    seq: frame.seq,
    at: frame.at,
    content: message.content,
    by: message.by ?? null,
  });
}

function revised(draft: Draft, id: string, mode: "queue" | "steer" | "interrupt" | null): void {
  if (mode === null) return unqueue(draft, id);
  const queued = draft.list("queued");
  const at = queued.findIndex((one) => one.id === id);
  const one = queued[at];
  if (one) queued[at] = { ...one, mode };
}

function unqueue(draft: Draft, id: string): void {
  const at = draft.state.queued.findIndex((queued) => queued.id === id);
  if (at >= 0) draft.list("queued").splice(at, 1);
}

function begin(
  draft: Draft,
  agent: Agent,
  payload: { message_id: string; model: string; attempt: number },
  frame: RuntimeFrame,
): void {
  closeOpen(draft, agent);
  draft.state.activity = { kind: "thinking" };
  agent.items.push({
    kind: "answer",
    key: `${payload.message_id}-${frame.seq}`,
    seq: frame.seq,
    at: frame.at,
    id: payload.message_id,
    model: payload.model,
    parts: [],
    isOpen: true,
    isCutOff: false,
    stop: null,
  });
}

/** Closes an answer that never ended; an empty one disappears. What was asked for again is cut off. */
function closeOpen(draft: Draft, agent: Agent, isAgain = true): void {
  const at = agent.items.findLastIndex((item) => item.kind === "answer");
  const item = agent.items[at];
  if (item?.kind !== "answer" || !item.isOpen) return;
  if (item.parts.length === 0) {
    agent.items.splice(at, 1);
    return;
  }
  const answer = draft.answer(agent, at);
  if (answer) Object.assign(answer, { isOpen: false, isCutOff: isAgain, stop: "cut_off" });
}

function cutOff(draft: Draft): void {
  for (const id of Object.keys(draft.state.agents)) closeOpen(draft, draft.agent(id));
}

function openAnswer(draft: Draft, agent: Agent, frame: RuntimeFrame): AnswerItem {
  const at = agent.items.findLastIndex((item) => item.kind === "answer");
  const item = agent.items[at];
  if (item?.kind === "answer" && item.isOpen) return draft.answer(agent, at) ?? item;
  begin(draft, agent, { message_id: `seq_${frame.seq}`, model: draft.state.model, attempt: 1 }, frame);
  return agent.items.at(-1) as AnswerItem;
}

function words(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  if (frame.event !== "text_delta" && frame.event !== "thinking_delta") return;
  const kind = frame.event === "text_delta" ? "text" : "thinking";
  const { text } = frame.payload;
  const answer = openAnswer(draft, agent, frame);
  const part = draft.lastPart(answer);
  draft.state.activity = { kind: kind === "text" ? "writing" : "thinking" };
  if (part?.kind === "thinking") part.until = frame.at;
  if (part?.kind === kind) part.text += text;
  else if (kind === "text") answer.parts.push({ kind, text });
  else answer.parts.push({ kind, text, since: frame.at, until: frame.at });
}

function stop(draft: Draft, agent: Agent, payload: { stop_reason: string; usage: Usage }): void {
  const at = agent.items.findLastIndex((item) => item.kind === "answer");
  const answer = draft.answer(agent, at);
  if (!answer) return;
  answer.isOpen = false;
  answer.stop = payload.stop_reason;
}

/** Takes the whole answer where its stream was not seen, such as in a fork or an import. */
function whole(draft: Draft, agent: Agent, message: Message, isPartial: boolean, frame: RuntimeFrame): void {
  const at = agent.items.findLastIndex((item) => item.kind === "answer" && item.id === message.message_id);
  if (at >= 0) {
    const answer = draft.answer(agent, at);
    if (answer) answer.isOpen = false;
    return;
  }
  begin(draft, agent, { message_id: message.message_id, model: draft.state.model, attempt: 1 }, frame);
  const answer = agent.items.at(-1) as AnswerItem;
  answer.isOpen = false;
  answer.isCutOff = isPartial;
  for (const part of message.content) {
    if (part.type === "text") answer.parts.push({ kind: "text", text: part.text });
    else if (part.type === "thinking") {
      answer.parts.push({ kind: "thinking", text: part.text, since: frame.at, until: frame.at });
    } else if (part.type === "tool_call") {
      draft.call(part.tool_call_id, part.name).input = part.input;
      answer.parts.push({ kind: "call", call: part.tool_call_id });
    }
  }
}

/** Returns the call, which stands in the open answer, or in the last one. */
function callIn(draft: Draft, agent: Agent, id: string, name: string, frame: RuntimeFrame): Call {
  const isNew = !(id in draft.state.calls);
  const call = draft.call(id, name);
  // The calls of scripts belong to the call that makes them.
  if (isNew && !id.includes("/")) {
    const at = agent.items.findLastIndex((item) => item.kind === "answer");
    const answer = draft.answer(agent, at) ?? openAnswer(draft, agent, frame);
    answer.parts.push({ kind: "call", call: id });
  }
  return call;
}

function ofCall(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  switch (frame.event) {
    case "tool_planned":
      callIn(draft, agent, frame.payload.tool_call_id, frame.payload.name, frame);
      break;
    case "tool_call":
      callIn(draft, agent, frame.payload.tool_call_id, frame.payload.name, frame).input = frame.payload.input;
      break;
    case "approval_requested": {
      const { tool_call_id, name, input: asked } = frame.payload;
      const call = callIn(draft, agent, tool_call_id, name, frame);
      call.input = asked;
      call.state = "asked";
      settleQuestion(draft, tool_call_id);
      draft.list("questions").push({ ...frame.payload, seq: frame.seq, at: frame.at, agent: agent.id });
      break;
    }
    case "approval_settled": {
      settleQuestion(draft, frame.payload.tool_call_id);
      const call = draft.call(frame.payload.tool_call_id);
      call.state = frame.payload.allowed ? "running" : "failed";
      break;
    }
    case "tool_executing": {
      settleQuestion(draft, frame.payload.tool_call_id);
      const call = callIn(draft, agent, frame.payload.tool_call_id, frame.payload.name, frame);
      Object.assign(call, { state: "running", input: frame.payload.input, startedAt: frame.at });
      break;
    }
    case "tool_output":
      output(draft.call(frame.payload.tool_call_id), frame.payload.channel, frame.payload.text);
      break;
    case "tool_completed":
    case "tool_failed":
      settled(draft, agent, frame);
      break;
    case "tool_result":
      settleQuestion(draft, frame.payload.tool_call_id);
      draft.call(frame.payload.tool_call_id).result = frame.payload.result as ContentPart[];
      break;
    default:
      break;
  }
}

function settled(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  if (frame.event !== "tool_completed" && frame.event !== "tool_failed") return;
  const { tool_call_id, name, duration_ms, details } = frame.payload;
  settleQuestion(draft, tool_call_id);
  const call = callIn(draft, agent, tool_call_id, name, frame);
  call.duration_ms = duration_ms;
  call.details = details;
  if (frame.event === "tool_completed") {
    call.state = "done";
    call.status = "success";
  } else {
    call.state = "failed";
    call.status = frame.payload.status;
    call.error = frame.payload.error;
  }
}

function output(call: Call, channel: Call["output"][number]["channel"], text: string): void {
  const last = call.output.at(-1);
  if (last?.channel === channel && channel !== "progress") {
    const whole = last.text + text;
    call.output[call.output.length - 1] = { channel, text: whole.slice(-OUTPUT_CHARS) };
  } else if (last?.channel === "progress" && channel === "progress") {
    call.output[call.output.length - 1] = { channel, text };
  } else {
    call.output.push({ channel, text });
  }
}

function settleQuestion(draft: Draft, call: string): void {
  const at = draft.state.questions.findIndex((question) => question.tool_call_id === call);
  if (at >= 0) draft.list("questions").splice(at, 1);
}

function ofRun(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  const { state } = draft;
  const isRoot = agent.id === state.root;
  switch (frame.event) {
    case "run_started":
      if (!isRoot) break;
      state.loop = null;
      state.activity = { kind: "thinking" };
      state.run = {
        id: frame.payload.run_id,
        status: "pending",
        iterations: 0,
        startedAt: frame.at,
        endedAt: null,
        reason: null,
      };
      break;
    case "run_status":
      if (isRoot && state.run) {
        state.run = { ...state.run, status: frame.payload.status, iterations: frame.payload.iterations };
      }
      break;
    case "run_finished":
      finished(draft, agent, frame);
      break;
    case "turn_response":
      turn(draft, agent, frame);
      break;
    case "conversation_thinking":
      if (isRoot) state.activity = { kind: "thinking" };
      break;
    case "conversation_interrupted":
      note(draft, agent.id, frame, {
        code: "interrupted",
        reason: frame.payload.reason,
        by: frame.payload.by ?? null,
      });
      break;
    default:
      break;
  }
}

function finished(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  if (frame.event !== "run_finished") return;
  const { state } = draft;
  const { run_id, status, reason, iterations } = frame.payload;
  closeOpen(draft, agent, false);
  if (agent.id !== state.root) return;
  state.activity = { kind: "idle" };
  // Questions of a run end with it.
  state.questions = state.questions.filter((question) => question.agent !== agent.id);
  const startedAt = state.run?.startedAt ?? frame.at;
  state.run = { id: run_id, status, iterations, startedAt, endedAt: frame.at, reason: reason ?? null };
  endOf(agent, run_id, frame.seq, { status, reason: reason ?? null });
}

/** Changes the line that ends a run, and adds it if there is none: two events tell of the end. */
function endOf(agent: Agent, run: string, seq: number, known: Partial<TurnItem>): void {
  const key = `turn-${run}`;
  const at = agent.items.findLastIndex((item) => item.key === key);
  const before = agent.items[at];
  if (before?.kind === "turn") {
    agent.items[at] = { ...before, ...known };
    return;
  }
  const nothing = { status: "completed", reason: null, duration_ms: null, usage: null, cost: null } as const;
  agent.items.push({ kind: "turn", key, seq, ...nothing, ...known });
}

function turn(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  if (frame.event !== "turn_response" || agent.id !== draft.state.root) return;
  const { run_id, duration_ms, usage, cost, model_calls } = frame.payload;
  const { state } = draft;
  state.usage = addUsage(state.usage, usage);
  state.cost += cost;
  state.modelCalls += model_calls;
  endOf(agent, run_id, frame.seq, { duration_ms, usage, cost });
}

/** Returns the tokens of both. */
export function addUsage(a: Usage, b: Usage): Usage {
  const of = (name: keyof Usage) => (a[name] ?? 0) + (b[name] ?? 0);
  return {
    input_tokens: of("input_tokens"),
    output_tokens: of("output_tokens"),
    cache_read_tokens: of("cache_read_tokens"),
    cache_write_tokens: of("cache_write_tokens"),
    reasoning_tokens: of("reasoning_tokens"),
    // They say that a cost is an estimate, or unknown.
    estimated_tokens: of("estimated_tokens"),
    unpriced_tokens: of("unpriced_tokens"),
  };
}

function failed(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  if (frame.event !== "error") return;
  const { code, message, retry_in_ms } = frame.payload;
  if (retry_in_ms != null) {
    const until = frame.at / 1000 + retry_in_ms;
    draft.state.activity = { kind: "waiting", code, message, until };
    return;
  }
  note(draft, agent.id, frame, { code: "error", error: code, message });
}

function contextChanged(draft: Draft, agent: Agent, frame: RuntimeFrame): void {
  if (frame.event !== "context_changed") return;
  const { change } = frame.payload;
  if ("condensed" in change) {
    note(draft, agent.id, frame, { code: "condensed", messages: change.condensed.messages });
  } else if ("failed" in change) {
    note(draft, agent.id, frame, { code: "condensing_failed", message: change.failed.message });
  } else if ("fell_back" in change) {
    note(draft, agent.id, frame, { code: "fell_back", from: change.fell_back.from, to: change.fell_back.to });
  }
}

function note(draft: Draft, agent: string | null, frame: RuntimeFrame, said: Note): void {
  if (agent === null) return;
  const items: Item[] = draft.agent(agent).items;
  items.push({ kind: "note", key: `note-${frame.seq}-${frame.index ?? 0}`, seq: frame.seq, note: said });
}
