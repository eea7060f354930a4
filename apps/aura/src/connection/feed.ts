// The reader of one session: what this browser has stored, then what the server sends, without a gap and
// without a repetition, across cut connections, other tabs and a server whose log went back.
import type { RuntimeFrame, Subscribed } from "../protocol";
import type { SessionLog } from "./log";
import { compare, place } from "./place";
import { Cut, Refusal, type Socket } from "./socket";

/** Frames are stored when so many wait, or after this time. */
const STORE_FRAMES = 4096;
const STORE_MS = 400;

export interface FeedEvents {
  /** Further frames, in order. */
  frames(frames: RuntimeFrame[]): void;
  /** The log of the server went back: everything begins anew. */
  restarted(): void;
  subscribed(notice: Subscribed): void;
  /** Everything that existed when the subscription began has come. */
  caughtUp(): void;
  /** The session cannot be read: it does not exist for this person, or was deleted. */
  ended(problem: { code: string; detail: string }): void;
}

export class Feed {
  private last: RuntimeFrame | null = null;
  /** The last event was compared with the one that the server sent again. */
  private isCompared = false;
  private isSubscribing = false;
  /** Events belong to the present subscription, and not to one that was given up. */
  private isLive = false;
  private unstored: RuntimeFrame[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private isOpen = true;

  constructor(
    readonly session: string,
    private readonly socket: Socket,
    private readonly log: SessionLog,
    private readonly events: FeedEvents,
  ) {}

  /** Reads what is stored, then subscribes if there is a connection. */
  async open(): Promise<void> {
    const stored = await this.log.read(this.session).catch(() => []);
    if (!this.isOpen) return;
    this.last = stored.at(-1) ?? null;
    if (stored.length > 0) this.events.frames(stored);
    await this.subscribe();
  }

  /** Subscribes after a (re)connection. */
  async subscribe(): Promise<void> {
    if (!this.isOpen || this.isSubscribing || !this.socket.ready) return;
    this.isSubscribing = true;
    this.isLive = false;
    this.isCompared = this.last === null;
    const after_seq = this.last ? this.last.seq - 1 : 0;
    try {
      await this.socket.request({
        type: "subscribe",
        payload: { session_id: this.session, after_seq, view: "runtime" },
      });
    } catch (error) {
      if (error instanceof Refusal) await this.refused(error);
      else if (!(error instanceof Cut)) throw error;
    } finally {
      this.isSubscribing = false;
    }
  }

  /** Stops reading, and stores what waits. */
  async close(): Promise<void> {
    this.isOpen = false;
    if (this.socket.ready) {
      await this.socket
        .request({ type: "unsubscribe", payload: { session_id: this.session } })
        .catch(() => undefined);
    }
    await this.store();
  }

  async onSubscribed(notice: Subscribed): Promise<void> {
    this.isLive = true;
    this.events.subscribed(notice);
    if (this.last && notice.head_seq < this.last.seq) await this.restart();
  }

  async onCaughtUp(): Promise<void> {
    if (!this.isLive) return;
    if (!this.isCompared) await this.restart();
    else this.events.caughtUp();
  }

  async onEvent(frame: RuntimeFrame): Promise<void> {
    if (!this.isOpen || !this.isLive) return;
    if (this.last) {
      const order = compare(place(frame), place(this.last));
      if (order === 0 && !this.isCompared) {
        if (JSON.stringify(frame) !== JSON.stringify(this.last)) return this.restart();
        this.isCompared = true;
      }
      if (order <= 0) return;
      if (!this.isCompared) return this.restart();
    }
    this.last = frame;
    this.unstored.push(frame);
    this.events.frames([frame]);
    if (this.unstored.length >= STORE_FRAMES) void this.store();
    else this.timer ??= setTimeout(() => void this.store(), STORE_MS);
  }

  /** Begins anew from the first event, because the stored ones are not those of the server. */
  private async restart(): Promise<void> {
    this.isLive = false;
    this.last = null;
    this.unstored = [];
    this.isCompared = true;
    this.events.restarted();
    await this.log.forget(this.session).catch(() => undefined);
    await this.socket
      .request({ type: "unsubscribe", payload: { session_id: this.session } })
      .catch(() => undefined);
    this.isSubscribing = false;
    await this.subscribe();
  }

  private async refused(error: Refusal): Promise<void> {
    const { problem } = error;
    // The server's session is shorter than what is stored here.
    if (problem.code === "refused" && this.last) return this.restart();
    if (problem.retry_after_ms) {
      setTimeout(() => void this.subscribe(), problem.retry_after_ms);
      return;
    }
    if (problem.code === "no_session") await this.log.forget(this.session).catch(() => undefined);
    this.events.ended(problem);
  }

  private async store(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const frames = this.unstored;
    this.unstored = [];
    // A browser without room still shows everything; it only keeps nothing.
    if (frames.length > 0) await this.log.append(this.session, frames).catch(() => undefined);
  }
}
