// Frames as the page keeps them: words that come one after another become one entry, so that a long session
// needs a tenth of the room in memory and in the browser's storage. Unpacking gives the same frames again.
import type { RuntimeFrame } from "../protocol";

/** Frames that differ only in `seq`, `at` and their text. */
export interface PackedRun {
  first: RuntimeFrame;
  /** All texts, joined. */
  text: string;
  /** Where the text of each frame ends. */
  ends: number[];
  /** The time of each frame, in microseconds after the first. */
  ats: number[];
}

/** A frame, or a run of frames. */
export type Packed = RuntimeFrame | PackedRun;

/** A run ends at so many frames, so that a part of it is found fast. */
const MOST_FRAMES = 512;
const MOST_MICROS = 2 ** 30;

type Worded = RuntimeFrame & { event: "text_delta" | "thinking_delta" | "tool_output" };

export function isRun(entry: Packed): entry is PackedRun {
  return "ends" in entry;
}

/** Returns how many frames an entry holds. */
export function countOf(entry: Packed): number {
  return isRun(entry) ? entry.ends.length : 1;
}

export function firstOf(entry: Packed): RuntimeFrame {
  return isRun(entry) ? frameOf(entry, 0) : entry;
}

export function lastOf(entry: Packed): RuntimeFrame {
  return isRun(entry) ? frameOf(entry, entry.ends.length - 1) : entry;
}

export function lastSeq(entry: Packed): number {
  return isRun(entry) ? entry.first.seq + entry.ends.length - 1 : entry.seq;
}

/** Returns a frame of a run, as it came. */
export function frameOf(run: PackedRun, at: number): RuntimeFrame {
  return joined(run, at, at + 1);
}

/** Returns the frames from one place of a run up to another as one frame, with the place of the last. */
export function joined(run: PackedRun, from: number, to: number): RuntimeFrame {
  const { first } = run;
  const text = run.text.slice(run.ends[from - 1] ?? 0, run.ends[to - 1]);
  return {
    ...first,
    seq: first.seq + to - 1,
    at: first.at + (run.ats[to - 1] ?? 0),
    payload: { ...first.payload, text },
  } as RuntimeFrame;
}

export function unpacked(entries: readonly Packed[]): RuntimeFrame[] {
  return entries.flatMap((entry) => (isRun(entry) ? entry.ends.map((_, at) => frameOf(entry, at)) : [entry]));
}

export function packed(entries: readonly Packed[]): Packed[] {
  const packer = new Packer();
  for (const entry of entries) packer.add(entry);
  return packer.entries;
}

/** A list of entries that grows at its end. */
export class Packer {
  readonly entries: Packed[] = [];
  /** The run that grows: the last entry, if it was made here. Others may be in use elsewhere. */
  private growing: PackedRun | null = null;

  /** Adds an entry. Returns whether the list has become longer. */
  add(entry: Packed): boolean {
    const last = this.entries.at(-1);
    if (!isRun(entry) && last !== undefined) {
      if (this.growing && extend(this.growing, entry)) return false;
      if (!isRun(last) && this.begin(last, entry)) return false;
    }
    if (this.growing) close(this.growing);
    this.growing = null;
    this.entries.push(entry);
    return true;
  }

  /** Makes a run of the last frame and the one after it, if they fit. */
  private begin(before: RuntimeFrame, frame: RuntimeFrame): boolean {
    if (!hasOnlyText(before)) return false;
    const { text } = before.payload;
    const run: PackedRun = { first: before, text, ends: [text.length], ats: [0] };
    if (!extend(run, frame)) return false;
    // The text stands in the run alone.
    run.first = { ...before, payload: { ...before.payload, text: "" } } as RuntimeFrame;
    this.entries[this.entries.length - 1] = run;
    this.growing = run;
    return true;
  }
}

function extend(run: PackedRun, frame: RuntimeFrame): boolean {
  const count = run.ends.length;
  if (count >= MOST_FRAMES || !hasOnlyText(frame) || !isAlike(run.first, frame)) return false;
  const after = frame.at - run.first.at;
  if (frame.seq !== run.first.seq + count || after < 0 || after > MOST_MICROS) return false;
  run.text += frame.payload.text;
  run.ends.push(run.text.length);
  run.ats.push(after);
  return true;
}

/** Gives a finished run no more room than it needs: a text that grew is a tree of its parts. */
function close(run: PackedRun): void {
  run.text = JSON.parse(JSON.stringify(run.text)) as string;
  run.ends = run.ends.slice();
  run.ats = run.ats.slice();
}

/** Whether a frame says nothing but words, and for whom they are. */
function hasOnlyText(frame: RuntimeFrame): frame is Worded {
  switch (frame.event) {
    case "text_delta":
    case "thinking_delta":
      return typeof frame.payload.text === "string" && sizeOf(frame.payload) === 1;
    case "tool_output":
      return frame.payload.channel !== "progress" && sizeOf(frame.payload) === 3;
    default:
      return false;
  }
}

/** Whether two frames differ only where a run says so. */
function isAlike(a: RuntimeFrame, b: RuntimeFrame): boolean {
  if (a.event !== b.event || a.agent_state_id !== b.agent_state_id || a.run_id !== b.run_id) return false;
  if (a.cause !== b.cause || a.source !== b.source || a.session_id !== b.session_id) return false;
  if ((a.index ?? 0) !== 0 || (b.index ?? 0) !== 0 || sizeOf(a) !== sizeOf(b)) return false;
  if (a.event === "tool_output" && b.event === "tool_output") {
    return a.payload.tool_call_id === b.payload.tool_call_id && a.payload.channel === b.payload.channel;
  }
  return true;
}

function sizeOf(value: object): number {
  let size = 0;
  for (const _ in value) size += 1;
  return size;
}
