// The reducer: what frames mean, and that it depends on nothing else.
import { describe, expect, test } from "vitest";
import type { RuntimeFrame } from "../src/protocol";
import { packed } from "../src/connection/packed";
import { EMPTY, isBusy, standing, type AnswerItem, type Conversation } from "../src/store/conversation";
import { end } from "../src/store/end";
import { fold } from "../src/store/fold";
import { Timeline } from "../src/store/timeline";
import { conversation, frames, goldenEvents } from "./frames";

const upTo = (event: string): RuntimeFrame[] => {
  const all = conversation();
  return all.slice(0, all.findIndex((frame) => frame.event === event) + 1);
};

const items = (state: Conversation) => state.agents[state.root ?? ""]?.items ?? [];

/** Freezes a value and everything in it, so that a change of it throws. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

describe("a conversation", () => {
  const state = fold(EMPTY, conversation());

  test("has what people and agents said, in order", () => {
    expect(items(state).map((item) => item.kind)).toEqual(["input", "answer", "answer", "turn"]);
    const answer = items(state)[1] as AnswerItem;
    expect(answer.parts.map((part) => part.kind)).toEqual(["thinking", "text", "call"]);
    expect(answer.parts[1]).toEqual({ kind: "text", text: "I will count." });
  });

  test("has the call with its output, result and time", () => {
    const call = state.calls.call_1;
    expect(call).toMatchObject({ state: "done", status: "success", duration_ms: 12, input: { command: "wc -l a" } });
    expect(call?.output).toEqual([{ channel: "stdout", text: "3 a\n" }]);
    expect(call?.result).toEqual([{ type: "text", text: "3 a" }]);
  });

  test("counts usage and cost", () => {
    expect(state).toMatchObject({ cost: 4_500_000, modelCalls: 2, usage: { input_tokens: 10, output_tokens: 5 } });
    expect(items(state).at(-1)).toMatchObject({ kind: "turn", status: "completed", duration_ms: 900 });
  });

  test("has one line at the end of a run, whichever event tells of it first", () => {
    const all = conversation();
    const swapped = [...all.slice(0, -2), all.at(-1) as RuntimeFrame, all.at(-2) as RuntimeFrame];
    for (const order of [all, swapped]) {
      const turns = items(fold(EMPTY, order)).filter((item) => item.kind === "turn");
      expect(turns).toHaveLength(1);
      expect(turns[0]).toMatchObject({ status: "completed", cost: 4_500_000 });
    }
  });
});

describe("the standing of a session", () => {
  test.each([
    ["session_created", "idle"],
    ["run_started", "thinking"],
    ["thinking_delta", "thinking"],
    ["text_delta", "writing"],
    ["approval_requested", "approval"],
    ["tool_executing", "calling"],
    ["run_finished", "done"],
  ])("after %s is %s", (event, expected) => {
    expect(standing(fold(EMPTY, upTo(event)))).toBe(expected);
  });

  test("is that of a limit while a model call waits to be repeated", () => {
    const error = { code: "rate_limited", message: "later", recoverable: true, retry_in_ms: 500 };
    const waiting = fold(fold(EMPTY, upTo("run_started")), frames([{ event: "error", payload: error }], 90));
    expect(standing(waiting)).toBe("limit");
    expect(waiting.activity).toMatchObject({ kind: "waiting", code: "rate_limited" });
    const answers = { message_id: "m9", model: "claude-x", attempt: 2 };
    const next = frames([{ event: "message_start", payload: answers }], 91);
    expect(standing(fold(waiting, next))).toBe("thinking");
  });

  test.each([
    ["failed", "failed"],
    ["timed_out", "timed_out"],
    ["interrupted", "interrupted"],
  ] as const)("of a run that %s is %s", (status, expected) => {
    const payload = { run_id: "run_3", status, reason: "why", iterations: 0 };
    const state = fold(fold(EMPTY, upTo("run_started")), frames([{ event: "run_finished", payload }], 90));
    expect(standing(state)).toBe(expected);
    expect(isBusy(state)).toBe(false);
  });

  test("is stuck when a loop stopped the run", () => {
    const loop = { kind: "error", times: 9, response: "stop", message: "`bash` again" } as const;
    const end = { run_id: "run_3", status: "failed", reason: "stuck", iterations: 9 } as const;
    const more = frames([{ event: "loop_detected", payload: loop }, { event: "run_finished", payload: end }], 90);
    expect(standing(fold(fold(EMPTY, upTo("run_started")), more))).toBe("stuck");
  });

  test("is a question when the model asks", () => {
    const asked = { ...upTo("approval_requested").at(-1) } as RuntimeFrame & { event: "approval_requested" };
    asked.payload = { ...asked.payload, question: { question: "Which colour?" } };
    expect(standing(fold(fold(EMPTY, upTo("run_status")), [asked]))).toBe("question");
  });
});

describe("questions", () => {
  test("end when their call runs, fails, or their run ends", () => {
    const asked = fold(EMPTY, upTo("approval_requested"));
    expect(asked.questions.map((question) => question.tool_call_id)).toEqual(["call_1"]);
    const id = { tool_call_id: "call_1", name: "bash" };
    const ends: Parameters<typeof frames>[0] = [
      { event: "tool_executing", payload: { ...id, input: {} } },
      { event: "tool_failed", payload: { ...id, status: "denied", error: "no", duration_ms: 0 } },
      { event: "run_finished", payload: { run_id: "run_3", status: "interrupted", iterations: 0 } },
    ];
    for (const end of ends) expect(fold(asked, frames([end], 90)).questions).toEqual([]);
  });
});

describe("queued inputs", () => {
  const queued = frames([{ event: "conversation_queued", payload: { message_id: "msg_9", position: 1 } }], 40);
  const waiting = fold(fold(EMPTY, upTo("run_started")), queued);

  test("wait until they are taken up, or back", () => {
    expect(waiting.queued).toEqual([{ id: "msg_9", seq: 40, mode: "queue" }]);
    for (const event of ["conversation_start", "conversation_revised"] as const) {
      expect(fold(waiting, frames([{ event, payload: { message_id: "msg_9" } }], 41)).queued).toEqual([]);
    }
  });

  test("may be given another mode", () => {
    const revised = frames([{ event: "conversation_revised", payload: { message_id: "msg_9", mode: "steer" } }], 41);
    expect(fold(waiting, revised).queued[0]?.mode).toBe("steer");
  });
});

describe("an answer that is cut off", () => {
  test("is marked when its process died, and the next one follows", () => {
    const half = fold(EMPTY, upTo("text_delta"));
    const after = fold(half, frames([{ event: "session_resumed", payload: { epoch: 2 } }], 90, null));
    expect(items(after).at(-1)).toMatchObject({ kind: "answer", isOpen: false, isCutOff: true });
  });

  test("is whole when a person stopped the run: nothing asks for it again", () => {
    const half = fold(EMPTY, upTo("text_delta"));
    const end = { run_id: "run_3", status: "interrupted", iterations: 0 } as const;
    const after = fold(half, frames([{ event: "run_finished", payload: end }], 90));
    const answer = items(after).find((item) => item.kind === "answer");
    expect(answer).toMatchObject({ isOpen: false, isCutOff: false, stop: "cut_off" });
  });

  test("disappears if nothing of it came", () => {
    const begun = fold(EMPTY, upTo("message_start"));
    const after = fold(begun, frames([{ event: "session_resumed", payload: { epoch: 2 } }], 90, null));
    expect(items(after).map((item) => item.kind)).toEqual(["input"]);
  });
});

describe("other agents", () => {
  test("have lanes of their own, where they were made", () => {
    const made = frames([{ event: "agent_started", payload: { name: "scout", parent: "agt_1" } }], 30, "agt_2");
    const said = frames([{ event: "text_delta", payload: { text: "Here." } }], 31, "agt_2");
    const state = fold(fold(EMPTY, conversation()), [...made, ...said]);
    expect(items(state).at(-1)).toMatchObject({ kind: "agent", agent: "agt_2" });
    expect(state.agents.agt_2?.items[0]).toMatchObject({ kind: "answer", parts: [{ kind: "text", text: "Here." }] });
  });
});

describe("the fold", () => {
  test("changes no state that it was given", () => {
    let state = frozen(fold(EMPTY, []));
    for (const frame of conversation()) state = frozen(fold(state, [frame]));
    expect(state).toEqual(fold(EMPTY, conversation()));
  });

  test("gives the same for the same frames, however they are cut", () => {
    const all = conversation();
    const whole = fold(EMPTY, all);
    for (let cut = 0; cut <= all.length; cut++) {
      expect(fold(fold(EMPTY, all.slice(0, cut)), all.slice(cut))).toEqual(whole);
    }
  });

  test("takes every golden event, in every order that a pair can have", () => {
    const events = goldenEvents();
    expect(events.length).toBeGreaterThan(60);
    const begin = fold(EMPTY, conversation());
    for (const event of events) {
      const first = fold(begin, frames([event], 100));
      expect(first.seq).toBe(100);
      for (const next of events) expect(fold(first, frames([next], 101)).seq).toBe(101);
    }
    expect(() => fold(EMPTY, frames(events, 1, null))).not.toThrow();
  });

  test("ignores events and fields of a newer server", () => {
    const [known] = frames([{ event: "heartbeat", payload: {} }], 50);
    const newer = { ...known, event: "sang", payload: { song: [1] }, field: 1 } as unknown as RuntimeFrame;
    const before = fold(EMPTY, conversation());
    const after = fold(before, [newer]);
    expect({ ...after, seq: 0, at: 0, index: 0, agents: 0 }).toEqual({ ...before, seq: 0, at: 0, index: 0, agents: 0 });
  });
});

describe("the timeline", () => {
  test("shows any earlier state, as it was", () => {
    const all = Array.from({ length: 420 }, (_, round) =>
      conversation().map((frame) => ({ ...frame, seq: frame.seq + 27 * round })),
    ).flat();
    const whole = new Timeline();
    whole.add(packed(all));
    const inParts = new Timeline();
    for (let from = 0; from < all.length; from += 377) inParts.add(all.slice(from, from + 377));
    inParts.add([]);
    for (const timeline of [whole, inParts]) {
      expect(timeline.length).toBe(all.length);
      for (const count of [0, 1, 10, 11, 27, 999, 1024, 1109, 1110, 1111, 9001, 10_790, all.length]) {
        expect(timeline.at(count)).toEqual(fold(EMPTY, all.slice(0, count)));
      }
      expect(timeline.now).toEqual(fold(EMPTY, all));
      for (const seq of [0, 1, 10, 11, 27, 8193]) expect(timeline.countAt(seq)).toBe(seq);
    }
  });
});

test("packed frames give the same state", () => {
  const words = Array.from({ length: 40 }, (_, at) => [
    { event: "thinking_delta", payload: { text: `t${at}` } },
    { event: "text_delta", payload: { text: `a${at}` } },
    { event: "text_delta", payload: { text: `b${at}` } },
  ]).flat() as Parameters<typeof frames>[0];
  const output = { tool_call_id: "call_1", channel: "stdout", text: "x".repeat(90_000) } as const;
  const outputs = Array.from({ length: 5 }, () => ({ event: "tool_output", payload: output }) as const);
  const all = [...conversation(), ...frames([...words, ...outputs], 60)];
  expect(packed(all).length).toBeLessThan(all.length);
  expect(fold(EMPTY, packed(all))).toEqual(fold(EMPTY, all));
});

describe("the end of a long session", () => {
  const info = { title: "Load", model: "m", workspace: "/w", cost: 5, usage: { input_tokens: 1, output_tokens: 2 } };
  const listed = (status: string) => ({ ...info, status }) as unknown as Parameters<typeof end>[2];

  test("has the title and the model of the list, and the newest entries", () => {
    const frames = conversation().slice(4);
    const state = end(null, frames, listed("completed"));
    expect(state).toMatchObject({ title: "Load", workspace: "/w", root: "agt_1" });
    expect(items(state).map((item) => item.key)).toEqual(items(fold(EMPTY, conversation())).map((item) => item.key));
  });

  test("works when the run began before it", () => {
    const state = end(null, conversation().slice(9, 11), listed("awaiting_llm"));
    expect(standing(state)).toBe("writing");
    expect(standing(end(null, conversation().slice(9, 11), listed("completed")))).toBe("done");
  });
});
