// The frames of a session and its states: the newest, and any earlier one for the slider.
import type { RuntimeFrame } from "../protocol";
import { EMPTY, type Conversation } from "./conversation";
import { fold } from "./fold";

/** A state is kept after so many frames, so that a jump folds at most so many again. */
const MARK_EVERY = 1000;

export class Timeline {
  readonly frames: RuntimeFrame[] = [];
  private marks: Conversation[] = [EMPTY];
  private state: Conversation = EMPTY;

  get now(): Conversation {
    return this.state;
  }

  /** Adds frames, and returns the state after them. */
  add(frames: readonly RuntimeFrame[]): Conversation {
    let from = 0;
    while (from < frames.length) {
      const room = MARK_EVERY - (this.frames.length % MARK_EVERY);
      const part = frames.slice(from, from + room);
      for (const frame of part) this.frames.push(frame);
      this.state = fold(this.state, part);
      if (this.frames.length % MARK_EVERY === 0) this.marks.push(this.state);
      from += part.length;
    }
    return this.state;
  }

  /** Returns the state after the first `count` frames. */
  at(count: number): Conversation {
    if (count >= this.frames.length) return this.state;
    const mark = Math.floor(Math.max(0, count) / MARK_EVERY);
    return fold(this.marks[mark] ?? EMPTY, this.frames.slice(mark * MARK_EVERY, Math.max(0, count)));
  }

  /** Returns how many frames come up to the end of the fact with this `seq`. */
  countAt(seq: number): number {
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.frames[middle]?.seq ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
