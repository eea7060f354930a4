// The place of an event in a session: its `seq`, and its index among those that follow from the same fact.
import type { Frame } from "../protocol";

export interface Place {
  seq: number;
  index: number;
}

export function place(frame: Pick<Frame, "seq" | "index">): Place {
  return { seq: frame.seq, index: frame.index ?? 0 };
}

/** Returns a negative number if `a` comes before `b`, 0 if they are the same place. */
export function compare(a: Place, b: Place): number {
  return a.seq - b.seq || a.index - b.index;
}
