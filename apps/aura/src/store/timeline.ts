// The frames of a session and its states: the newest, and any earlier one for the slider.
import { countOf, firstOf, isRun, lastSeq, Packer, type Packed } from "../connection/packed";
import { EMPTY, type Conversation } from "./conversation";
import { fold, foldRun } from "./fold";

/** A state is kept after so many entries, so that a jump folds at most so many again. */
const MARK_EVERY = 1024;

/** A state, and where it stands: after so many entries, and so many frames. */
interface Mark {
  entries: number;
  frames: number;
  state: Conversation;
}

export class Timeline {
  private readonly packer = new Packer();
  /** How many frames come before each entry. */
  private readonly starts: number[] = [];
  private readonly marks: Mark[] = [{ entries: 0, frames: 0, state: EMPTY }];
  private state: Conversation = EMPTY;
  private count = 0;

  get now(): Conversation {
    return this.state;
  }

  /** The number of frames. */
  get length(): number {
    return this.count;
  }

  /** Adds frames, and returns the state after them. */
  add(entries: readonly Packed[]): Conversation {
    let unfolded: Packed[] = [];
    for (const entry of entries) {
      const isNew = this.packer.add(entry);
      if (isNew) {
        const last = this.marks.at(-1);
        if (this.starts.length - (last?.entries ?? 0) >= MARK_EVERY) {
          this.state = fold(this.state, unfolded);
          unfolded = [];
          this.marks.push({ entries: this.starts.length, frames: this.count, state: this.state });
        }
        this.starts.push(this.count);
      }
      unfolded.push(entry);
      this.count += countOf(entry);
    }
    this.state = fold(this.state, unfolded);
    return this.state;
  }

  /** Returns the state after the first `count` frames. */
  at(count: number): Conversation {
    if (count >= this.count) return this.state;
    const mark = this.marks.findLast((one) => one.frames <= Math.max(0, count)) as Mark;
    const { entries } = this.packer;
    let end = mark.entries;
    while (end < entries.length && (this.starts[end] ?? 0) + countOf(entries[end] as Packed) <= count) end += 1;
    const state = fold(mark.state, entries.slice(mark.entries, end));
    const part = entries[end];
    const rest = count - (this.starts[end] ?? count);
    return part && isRun(part) && rest > 0 ? foldRun(state, part, rest) : state;
  }

  /** Returns how many frames come up to the end of the fact with this `seq`. */
  countAt(seq: number): number {
    const { entries } = this.packer;
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lastSeq(entries[middle] as Packed) <= seq) low = middle + 1;
      else high = middle;
    }
    const entry = entries[low];
    if (!entry) return this.count;
    return (this.starts[low] ?? 0) + Math.max(0, seq - firstOf(entry).seq + 1);
  }
}
