// Frames for tests: the payloads of the golden files, in the order of a session. The sessions are made up.
import { readFileSync } from "node:fs";
import type { RuntimeEvent, RuntimeFrame, ServerNotice } from "../src/protocol";

const GOLDEN = new URL("../../../crates/types/tests/golden/", import.meta.url);

function lines<T>(file: string): T[] {
  const text = readFileSync(new URL(file, GOLDEN), "utf8");
  return text.trim().split("\n").map((line) => JSON.parse(line) as T);
}

/** Every event of the view `runtime` that a golden file freezes. */
export const goldenEvents = (): RuntimeEvent[] => lines<RuntimeEvent>("runtime.jsonl");

export const goldenNotices = (): ServerNotice[] => lines<ServerNotice>("notice.jsonl");

const BEGINNING = 1_763_629_200_000_000;

/** Returns events as frames of one session, one after another, each from a fact of its own. */
export function frames(events: RuntimeEvent[], from = 1, agent: string | null = "agt_1"): RuntimeFrame[] {
  return events.map((event, offset) => ({
    seq: from + offset,
    index: 0,
    at: BEGINNING + from + offset,
    source: "agent",
    session_id: "ses_1",
    ...(agent ? { agent_state_id: agent } : {}),
    ...event,
  }));
}

const usage = { input_tokens: 10, output_tokens: 5 };

/** A session in which a person asks, a tool runs after an approval, and an answer comes. */
export function conversation(): RuntimeFrame[] {
  return frames([
    { event: "session_created", payload: { model: "claude-x", workspace: "/w" } },
    { event: "agent_started", payload: { name: "main" } },
    { event: "conversation_queued", payload: { message_id: "msg_3", position: 1 } },
    { event: "conversation_start", payload: { message_id: "msg_3" } },
    { event: "run_started", payload: { run_id: "run_3", message_id: "msg_3" } },
    {
      event: "user_message",
      payload: { message: { message_id: "msg_3", role: "user", content: [{ type: "text", text: "count" }] } },
    },
    { event: "run_status", payload: { run_id: "run_3", status: "awaiting_llm", iterations: 0 } },
    { event: "message_start", payload: { message_id: "m1", model: "claude-x", attempt: 1 } },
    { event: "thinking_delta", payload: { text: "hm" } },
    { event: "text_delta", payload: { text: "I will " } },
    { event: "text_delta", payload: { text: "count." } },
    { event: "tool_planned", payload: { tool_call_id: "call_1", name: "bash" } },
    { event: "tool_call", payload: { tool_call_id: "call_1", name: "bash", input: { command: "wc -l a" } } },
    { event: "message_stop", payload: { message_id: "m1", stop_reason: "tool_use", usage } },
    { event: "run_status", payload: { run_id: "run_3", status: "awaiting_approval", iterations: 0 } },
    {
      event: "approval_requested",
      payload: {
        tool_call_id: "call_1",
        name: "bash",
        input: { command: "wc -l a" },
        reason: "running asks",
        suggested: { effect: "allow", tool: "bash", argument: "wc -l a" },
      },
    },
    { event: "run_status", payload: { run_id: "run_3", status: "awaiting_tool", iterations: 0 } },
    { event: "tool_executing", payload: { tool_call_id: "call_1", name: "bash", input: { command: "wc -l a" } } },
    { event: "tool_output", payload: { tool_call_id: "call_1", channel: "stdout", text: "3 " } },
    { event: "tool_output", payload: { tool_call_id: "call_1", channel: "stdout", text: "a\n" } },
    { event: "tool_completed", payload: { tool_call_id: "call_1", name: "bash", duration_ms: 12, details: { exit_code: 0 } } },
    { event: "tool_result", payload: { tool_call_id: "call_1", result: [{ type: "text", text: "3 a" }], is_error: false } },
    { event: "message_start", payload: { message_id: "m2", model: "claude-x", attempt: 1 } },
    { event: "text_delta", payload: { text: "Three." } },
    { event: "message_stop", payload: { message_id: "m2", stop_reason: "end_turn", usage } },
    { event: "turn_response", payload: { run_id: "run_3", text: "Three.", duration_ms: 900, usage, cost: 4_500_000, model_calls: 2 } },
    { event: "run_finished", payload: { run_id: "run_3", status: "completed", iterations: 1 } },
  ]);
}
