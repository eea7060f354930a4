// Pieces that components are made of: forms, the tree of forks, requests of models, numbers.
import { describe, expect, test, vi } from "vitest";
import { sentRequest } from "../src/components/context";
import { familyOf } from "../src/components/Family";
import { formAnswer, formFields } from "../src/components/form";
import { copied, duration, spent, unpricedModels } from "../src/components/format";
import { MODES, modeOf, stepsTo } from "../src/components/modes";
import { base64url, bytesOf } from "../src/connection/push";
import type { SessionInfo } from "../src/connection/http";
import { toast, useApp } from "../src/store/app";
import { NO_USAGE } from "../src/store/conversation";
import { addUsage } from "../src/store/fold";
import { textIn } from "../src/texts";
import { LANGUAGES } from "../src/texts/table";

describe("a form of an MCP server", () => {
  const schema = {
    type: "object",
    required: ["kind", "mail"],
    properties: {
      mail: { type: "string", format: "email", title: "Mail" },
      kind: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
      size: { type: "string", oneOf: [{ const: "s", title: "Small" }] },
      tags: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } },
      points: { type: "integer", default: 3 },
      share: { type: "number" },
      urgent: { type: "boolean", default: true },
    },
  };
  const fields = formFields(schema);

  test("has its fields in order, with what to choose from", () => {
    const shown = fields.map((field) => `${field.label} ${field.kind} ${field.input} ${field.choices.map((one) => one.label)}`);
    expect(shown).toEqual([
      "Mail text email ",
      "kind choice text A,B",
      "size choice text Small",
      "tags choices text X",
      "points whole number ",
      "share number number ",
      "urgent yes_no text ",
    ]);
    expect(fields.filter((field) => field.isRequired).map((field) => field.name)).toEqual(["mail", "kind"]);
  });

  test("answers with the types of its schema, and not before what is needed is there", () => {
    expect(formAnswer(fields, { mail: "a@b" })).toBeNull();
    expect(formAnswer(fields, { mail: "a@b", kind: "b", share: "0.5", tags: ["x"] })).toEqual({
      mail: "a@b",
      kind: "b",
      tags: ["x"],
      points: 3,
      share: 0.5,
      urgent: true,
    });
  });

  test.each([null, 1, [], { type: "string" }, { properties: { a: null } }])("of another kind breaks nothing: %j", (other) => {
    expect(() => formAnswer(formFields(other), {})).not.toThrow();
  });
});

describe("the tree of forks", () => {
  const session = (session_id: string, parent: [string, number] | null) =>
    ({ session_id, parent, created_at: 1 }) as unknown as SessionInfo;
  const sessions = [session("d", ["b", 2]), session("c", ["a", 9]), session("b", ["a", 4]), session("a", null), session("x", null)];

  test("has everything that came from the oldest ancestor, in the order of the events", () => {
    const drawn = familyOf("d", sessions).map((one) => `${"-".repeat(one.depth)}${one.session.session_id}`);
    expect(drawn).toEqual(["a", "-b", "--d", "-c"]);
    expect(familyOf("x", sessions)).toHaveLength(1);
    expect(familyOf("nowhere", sessions)).toEqual([]);
  });

  test("ends at a parent that is not listed, and in a circle", () => {
    expect(familyOf("d", [session("d", ["gone", 2])])).toHaveLength(1);
    expect(familyOf("p", [session("p", ["q", 1]), session("q", ["p", 1])])).toHaveLength(2);
  });
});

describe("the request to a model", () => {
  test.each([
    [{ model: "m", system: [{ text: "S" }], messages: [{ role: "user", content: "hi" }], tools: [{ name: "read" }] }],
    [{ model: "m", instructions: "S", input: [{ role: "user", content: [{ type: "input_text", text: "hi" }] }], tools: [{ type: "function", name: "read" }] }],
    [{ model: "m", systemInstruction: { parts: [{ text: "S" }] }, contents: [{ role: "user", parts: [{ text: "hi" }] }], tools: [{ functionDeclarations: [{ name: "read" }] }] }],
  ])("is the same however a provider names its parts: %j", (body) => {
    const sent = sentRequest(JSON.stringify(body));
    expect(sent).toEqual({ system: "S", messages: [{ role: "user", text: "hi" }], tools: ["read"], rest: { model: "m" } });
  });

  test("shows what it does not know, and no JSON as nothing", () => {
    const body = { messages: [{ role: "assistant", content: null, tool_calls: [{ id: "c" }] }], tools: [{ function: { name: "f" } }] };
    expect(sentRequest(JSON.stringify(body))?.messages[0]?.text).toContain('"id": "c"');
    expect(sentRequest(JSON.stringify(body))?.tools).toEqual(["f"]);
    expect(sentRequest("{")).toBeNull();
    expect(sentRequest("null")).toBeNull();
  });
});

test("a time never has sixty seconds", () => {
  expect([400, 12_600, 59_999].map(duration)).toEqual(["0.4 s", "12 s", "59 s"]);
  expect(duration(119_990)).toBe("1 min 59 s");
  expect(duration(3_599_999)).toBe("59 min 59 s");
});

test("a copied text is the same text", () => {
  for (const text of ["", "a", "“q” \u2028 \ud83d \n\t".repeat(9)]) expect(copied(text)).toBe(text);
});

test("a key of a server is the same bytes in the browser", () => {
  const key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
  expect(bytesOf(key)).toHaveLength(65);
  expect(bytesOf(key)[0]).toBe(4);
  expect(base64url(bytesOf(key))).toBe(key);
  for (let length = 0; length < 9; length++) {
    const bytes = Uint8Array.from({ length }, (_, at) => 250 + at);
    expect(bytesOf(base64url(bytes))).toEqual(bytes);
  }
});

describe("a cost", () => {
  const usage = { ...NO_USAGE, input_tokens: 1200 };
  const unpriced = { ...usage, unpriced_tokens: 1200 };

  test("is $? without a known price, as in the terminal, and not $0", () => {
    expect(spent(0, unpriced)).toBe("$?");
    expect(spent(20_000_000, unpriced)).toBe("$0.02+?");
    expect(spent(20_000_000, { ...usage, estimated_tokens: 3 })).toBe("~$0.02");
    expect(spent(15_000_000, usage)).toBe("$0.015");
    expect(spent(0, usage)).toBe("$0");
  });

  test("of the demo is nothing", () => {
    const row = { unpriced_models: ["scripted", "demo"] };
    expect(unpricedModels(row)).toEqual([]);
    expect(spent(0, usage, unpricedModels(row).length > 0)).toBe("$0");
    expect(unpricedModels({ unpriced_models: ["scripted", "mine/some"] })).toEqual(["mine/some"]);
  });

  test("keeps what is unknown when it is summed", () => {
    expect(spent(0, addUsage(NO_USAGE, unpriced))).toBe("$?");
  });
});

describe("the approval mode", () => {
  test("is one of those to choose from, plan mode included", () => {
    expect(modeOf({ approval: "accept_edits" })).toBe("accept_edits");
    expect(modeOf({ approval: "ask", plan_mode: true })).toBe("plan");
    expect(modeOf({ approval: "ask", plan_mode: false })).toBe("ask");
    expect(modeOf(null)).toBeNull();
    for (const language of LANGUAGES) {
      for (const mode of MODES) expect(textIn(language, `mode_${mode}_hint`)).not.toBe("");
    }
  });

  test("is reached in steps, as with Shift-Tab", () => {
    expect(stepsTo("plan", { approval: "accept_edits" })).toEqual([{ approval: "ask" }, { plan_mode: true }]);
    expect(stepsTo("plan", { approval: "ask" })).toEqual([{ plan_mode: true }]);
    expect(stepsTo("deny", { approval: "ask", plan_mode: true })).toEqual([{ approval: "deny" }, { plan_mode: false }]);
    expect(stepsTo("auto", { approval: "ask" })).toEqual([{ approval: "auto" }]);
  });

  test("of calls without a question is described as in the terminal", () => {
    expect(textIn("en", "mode_auto_hint")).toBe("Calls run without asking, unless a rule asks or denies.");
  });
});

test("what could not be reached is said once, however often it was tried", () => {
  vi.useFakeTimers();
  for (let round = 0; round < 3; round++) toast("The server is not reachable.", true);
  toast("Copied");
  expect(useApp.getState().toasts.map((one) => one.text)).toEqual(["The server is not reachable.", "Copied"]);
  vi.runAllTimers();
  expect(useApp.getState().toasts).toEqual([]);
  vi.useRealTimers();
});
