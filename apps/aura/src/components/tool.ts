// What a call does, in a few words: by the names that arguments of tools usually have.
import type { ContentPart } from "../protocol";
import type { Call } from "../store/conversation";
import { shortPath } from "./format";

const TELLING = ["command", "path", "file_path", "pattern", "query", "url", "urls", "task", "agent", "question", "name", "text"];

/** Returns the argument that says most about a call. */
export function summary(input: unknown, workspace: string): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  for (const name of TELLING) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") {
      return name.includes("path") ? shortPath(value, workspace) : (value.split("\n")[0] ?? "");
    }
    if (Array.isArray(value) && value.length > 0) return value.map(String).join(", ");
  }
  const first = Object.values(fields).find((value) => typeof value === "string");
  return typeof first === "string" ? (first.split("\n")[0] ?? "") : "";
}

/** Returns the change of a file that a tool reports. */
export function changeOf(details: unknown): { diff: string; added: number; removed: number; created: boolean } | null {
  if (typeof details !== "object" || details === null) return null;
  const { diff, added, removed, created } = details as Record<string, unknown>;
  if (typeof diff !== "string" || diff === "") return null;
  return { diff, added: Number(added) || 0, removed: Number(removed) || 0, created: created === true };
}

/** Returns how a program ended and where it ran, if a tool reports it. */
export function outcomeOf(details: unknown): { exit: number | null; isSandboxed: boolean } {
  if (typeof details !== "object" || details === null) return { exit: null, isSandboxed: false };
  const { exit_code, sandbox } = details as Record<string, unknown>;
  const step = typeof sandbox === "object" && sandbox !== null ? (sandbox as Record<string, unknown>).step : undefined;
  return {
    exit: typeof exit_code === "number" ? exit_code : null,
    isSandboxed: typeof step === "string" && step !== "none",
  };
}

/** Returns what a call cost, if it called a model. */
export function costOf(details: unknown): number | null {
  if (typeof details !== "object" || details === null) return null;
  const { cost } = details as Record<string, unknown>;
  return typeof cost === "number" && cost > 0 ? cost : null;
}

export function plain(parts: ContentPart[] | null): string {
  if (!parts) return "";
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

/** Returns the output of a call as a terminal would show it. */
export function outputOf(call: Call): string {
  const text = call.output.filter((piece) => piece.channel !== "progress").map((piece) => piece.text).join("");
  // Colours and cursor movements of programs are left out.
  return text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[^\n]*\r(?!\n)/g, "");
}

export function progressOf(call: Call): string {
  return call.output.findLast((piece) => piece.channel === "progress")?.text ?? "";
}

/** Returns whether a name is that of a tool that changes files, or runs commands. */
export function kindOf(name: string, input: unknown): "command" | "change" | "read" | "web" | "other" {
  const fields = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
  if (typeof fields.command === "string") return "command";
  if (/^(edit|write|multi_edit|apply_patch)/.test(name)) return "change";
  if (/^(read|grep|glob|list|ls)/.test(name)) return "read";
  if (/^(web|http|browser)/.test(name)) return "web";
  return "other";
}
