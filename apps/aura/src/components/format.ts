// Numbers, times and money as people read them.
import type { Usage } from "../protocol";
import type { Language } from "../store/app";

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Returns billionths of a dollar as dollars. */
export function money(nano: number): string {
  const dollars = nano / 1e9;
  if (dollars === 0) return "$0";
  if (dollars < 0.00995) return `$${dollars.toFixed(4)}`;
  // Tenths of a cent, unless there are none.
  if (dollars < 0.0995) return `$${dollars.toFixed(3).replace(/0$/, "")}`;
  return `$${dollars.toFixed(2)}`;
}

/** The sign of a cost that is unknown, because the model has no known price. */
const NO_PRICE = "$?";

/** Returns what calls cost: `$?` if no price is known, `$0.02+?` if a part is unknown, `~` before an estimate. */
export function spent(nano: number, usage: Usage, hasNoPrice = false): string {
  const isUnpriced = hasNoPrice || (usage.unpriced_tokens ?? 0) > 0;
  if (isUnpriced && nano === 0) return NO_PRICE;
  return `${usage.estimated_tokens ? "~" : ""}${money(nano)}${isUnpriced ? "+?" : ""}`;
}

/** Returns the models without a known price. The demo, a script, costs nothing. */
export function unpricedModels(row: { unpriced_models?: string[] }): string[] {
  return (row.unpriced_models ?? []).filter((model) => model !== "scripted" && model !== "demo");
}

export function duration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Returns a time (microseconds since 1970) as a clock shows it. */
export function clock(micros: number, language: Language): string {
  return new Date(micros / 1000).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
}

/** Returns a time of a list: the clock today, else the day. */
export function moment(micros: number, language: Language, now: number = Date.now()): string {
  const date = new Date(micros / 1000);
  const isToday = new Date(now).toDateString() === date.toDateString();
  if (isToday) return clock(micros, language);
  return date.toLocaleDateString(language, { month: "short", day: "numeric" });
}

/** Returns a path without the beginning that says little. */
export function shortPath(path: string, workspace: string): string {
  if (workspace && path.startsWith(`${workspace}/`)) return path.slice(workspace.length + 1);
  return path.replace(/^\/(?:home|Users)\/[^/]+/, "~");
}

/** Returns a text that is not a part of another one: a part keeps the whole text alive. */
export function copied(text: string): string {
  return text.length < 13 ? text : (JSON.parse(JSON.stringify(text)) as string);
}
