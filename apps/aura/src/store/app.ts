// What all components read: the connection, the list of sessions, the open session, and settings of the page.
//
// The store itself asks nobody: `hooks/wiring.ts` connects it with the connection.
import { create } from "zustand";
import type { ConnectionState } from "../connection/socket";
import type { SessionInfo } from "../connection/http";
import type { Unsent } from "../connection/log";
import type { Packed } from "../connection/packed";
import type { Person, Present, RuntimeFrame, SessionRole, Wheel } from "../protocol";
import { EMPTY, type Conversation } from "./conversation";
import { end } from "./end";
import { Timeline } from "./timeline";

/** A session that is shown. */
export interface OpenSession {
  id: string;
  timeline: Timeline;
  now: Conversation;
  /** The number of frames that the slider shows; `null` follows the session. */
  at: number | null;
  shown: Conversation;
  role: SessionRole | null;
  people: Present[];
  wheel: Wheel | null;
  /** Everything that there was has come. */
  isCaughtUp: boolean;
  /** Only the end is shown: what came before it still arrives. */
  isPartial: boolean;
  /** The stored events were not those of the server any more. */
  wentBack: boolean;
  problem: { code: string; detail: string } | null;
  /** The event that is to be shown, as a search found it. */
  target: number | null;
}

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "de" | "zh";

export type SettingsPart = "you" | "look" | "browsers" | "memory" | "usage" | "keys";

export interface Toast {
  id: number;
  text: string;
  isError: boolean;
}

export interface AppState {
  connection: ConnectionState;
  retryAt: number | null;
  person: Person | null;
  client: string;
  server: string;
  /** Why signing in failed. */
  loginError: string | null;
  sessions: SessionInfo[] | null;
  sessionsError: string | null;
  open: OpenSession | null;
  unsent: Unsent[];
  theme: Theme;
  language: Language;
  panel: "none" | "palette" | "sessions" | "details" | "settings";
  /** The part of the settings that is shown. */
  settings: SettingsPart;
  toasts: Toast[];
}

export const useApp = create<AppState>(() => ({
  connection: "connecting",
  retryAt: null,
  person: null,
  client: "",
  server: "",
  loginError: null,
  sessions: null,
  sessionsError: null,
  open: null,
  unsent: [],
  theme: "system",
  language: "en",
  panel: "none",
  settings: "you",
  toasts: [],
}));

export const set = useApp.setState;
export const get = useApp.getState;

export function opened(id: string, target: number | null = null): OpenSession {
  return {
    id,
    timeline: new Timeline(),
    now: EMPTY,
    at: null,
    shown: EMPTY,
    role: null,
    people: [],
    wheel: null,
    isCaughtUp: false,
    isPartial: false,
    wentBack: false,
    problem: null,
    target,
  };
}

/** Changes the open session, if it still is this one. */
export function change(id: string, with_: (open: OpenSession) => Partial<OpenSession>): void {
  set((state) => (state.open?.id === id ? { open: { ...state.open, ...with_(state.open) } } : {}));
}

/** The event that a search found is shown. */
export function reached(): void {
  const { open } = get();
  if (open) change(open.id, () => ({ target: null }));
}

/** Adds frames to the open session. While only its end is shown, nothing on the screen changes. */
export function addFrames(id: string, entries: Packed[]): void {
  const { open } = get();
  if (open?.id === id && open.isPartial) {
    open.timeline.add(entries);
    return;
  }
  change(id, ({ timeline, at, shown }) => {
    const now = timeline.add(entries);
    return { now, shown: at === null ? now : shown };
  });
}

/** Shows the newest frames, before those that come earlier are here. */
export function addEnd(id: string, frames: RuntimeFrame[]): void {
  const info = get().sessions?.find((one) => one.session_id === id);
  change(id, ({ isPartial, now }) => {
    const next = end(isPartial ? now : null, frames, info);
    return { now: next, shown: next, at: null, isPartial: true };
  });
}

/** Shows the whole session: everything up to now has come. */
export function caughtUp(id: string): void {
  change(id, ({ timeline, at, shown }) => {
    const { now } = timeline;
    return { now, shown: at === null ? now : shown, isCaughtUp: true, isPartial: false };
  });
}

/** Moves the slider: to a number of frames, or back to the newest state. */
export function moveTo(count: number | null): void {
  const { open } = get();
  if (!open) return;
  const isNewest = count === null || count >= open.timeline.length;
  if (isNewest) change(open.id, ({ now }) => ({ at: null, shown: now }));
  else change(open.id, ({ timeline }) => ({ at: count, shown: timeline.at(count) }));
}

export function closePanel(): void {
  set({ panel: "none" });
}

export function showSettings(settings: SettingsPart): void {
  set({ panel: "settings", settings });
}

let toasts = 0;

/** Shows a line for a few seconds; one that is shown already is shown once. */
export function toast(text: string, isError = false): void {
  const id = ++toasts;
  set((state) => ({ toasts: [...state.toasts.filter((one) => one.text !== text).slice(-2), { id, text, isError }] }));
  setTimeout(() => set((state) => ({ toasts: state.toasts.filter((one) => one.id !== id) })), 6000);
}
