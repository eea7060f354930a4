// The request that a model got, taken apart for people: what every provider calls by another name.

/** A message as a request has it. */
export interface SentMessage {
  role: string;
  text: string;
}

export interface SentRequest {
  system: string;
  messages: SentMessage[];
  tools: string[];
  /** What is left: the model, its limits, and everything that is known by no name here. */
  rest: Record<string, unknown>;
}

const SYSTEM = ["system", "instructions", "systemInstruction", "system_instruction"];
const MESSAGES = ["messages", "input", "contents"];

/** Returns the parts of a request; `null` if it is not JSON. */
export function sentRequest(body: string): SentRequest | null {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(body) as Record<string, unknown>;
  } catch {
    return null;
  }
  if (typeof fields !== "object" || fields === null) return null;
  const rest: Record<string, unknown> = {};
  const found: SentRequest = { system: "", messages: [], tools: [], rest };
  for (const [name, value] of Object.entries(fields)) {
    if (SYSTEM.includes(name)) found.system = textOf(value);
    else if (MESSAGES.includes(name)) found.messages = messagesOf(value);
    else if (name === "tools" && Array.isArray(value)) found.tools = value.flatMap(toolNames);
    else rest[name] = value;
  }
  return found;
}

function messagesOf(value: unknown): SentMessage[] {
  if (typeof value === "string") return [{ role: "user", text: value }];
  if (!Array.isArray(value)) return [];
  return value.map((one: Record<string, unknown>) => {
    const { role, type, content, parts, ...others } = one;
    const named = String(role ?? type ?? "");
    const said = content ?? parts;
    const more = Object.keys(others).length > 0 ? textOf(others) : "";
    return { role: named, text: [said === undefined ? "" : textOf(said), more].filter(Boolean).join("\n\n") };
  });
}

/** Returns the words of a value; what has none as JSON. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join("\n\n");
  const { text, parts } = value as { text?: unknown; parts?: unknown };
  if (typeof text === "string") return text;
  if (Array.isArray(parts)) return textOf(parts);
  return JSON.stringify(value, null, 2);
}

function toolNames(tool: Record<string, unknown>): string[] {
  const { function: called, functionDeclarations, name } = tool as Record<string, { name?: unknown } | unknown[]>;
  if (Array.isArray(functionDeclarations)) return functionDeclarations.flatMap((one) => toolNames(one as Record<string, unknown>));
  const inner = called && !Array.isArray(called) ? called.name : undefined;
  return [String(inner ?? name ?? tool.type ?? "")];
}
