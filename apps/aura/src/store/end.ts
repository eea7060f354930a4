// The end of a long session, before the rest of it is here: what people read first. The list of sessions says
// what its newest frames do not.
import type { SessionInfo } from "../connection/http";
import type { RunStatus, RuntimeFrame } from "../protocol";
import { EMPTY, type Conversation, type Run } from "./conversation";
import { fold } from "./fold";

const ENDED = new Set<RunStatus>(["completed", "failed", "timed_out", "interrupted"]);

/** Returns the state after further frames of the end of a session. */
export function end(before: Conversation | null, frames: RuntimeFrame[], info: SessionInfo | undefined): Conversation {
  const begin = before ?? begun(info);
  const root = begin.root ?? rootOf(frames);
  return fold({ ...begin, root }, frames);
}

function begun(info: SessionInfo | undefined): Conversation {
  if (!info) return EMPTY;
  const { title, model, workspace, usage, cost, status } = info;
  return { ...EMPTY, title, model, workspace, usage, cost, run: status ? runOf(status) : null };
}

function runOf(status: RunStatus): Run {
  return { id: "", status, iterations: 0, startedAt: 0, endedAt: ENDED.has(status) ? 0 : null, reason: null };
}

/** Returns the agent that people talk to. Its beginning is not among the frames, but people's messages are. */
function rootOf(frames: RuntimeFrame[]): string | null {
  const asked = frames.find((frame) => frame.event === "user_message" || frame.event === "run_started");
  const told = asked ?? frames.find((frame) => frame.agent_state_id != null);
  return told?.agent_state_id ?? null;
}
