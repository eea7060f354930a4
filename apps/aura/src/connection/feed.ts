// The reader of one session: what this browser has stored, then what the server sends, without a gap and
// without a repetition, across cut connections, other tabs and a server whose log went back.
import type { RuntimeFrame, Subscribed } from "../protocol";
import { pause } from "./backoff";
import type { SessionLog } from "./log";
import { lastOf, type Packed } from "./packed";
import { compare, place } from "./place";
import { Cut, Refusal, type Socket } from "./socket";

/** Frames are stored when so many wait, or after this time. */
const STORE_FRAMES = 4096;
const STORE_MS = 400;
/** If more events are missing, the newest come first, and the others in pages while people read. */
const FAR = 5000;
/** So many come first. */
const TAIL = 1000;
const PAGE = 4000;

/** A page of the events of a session. */
export interface EventPage {
  items: RuntimeFrame[];
  next_after_seq?: number | null;
}

/** What can be asked about the past of a session. */
export interface Past {
  /** Returns the last event that the server had a short time ago. */
  head(session: string): Promise<number>;
  page(session: string, after: number, limit: number): Promise<EventPage>;
}

export interface FeedEvents {
  /** Further frames, in order. */
  frames(entries: Packed[]): void;
  /** The newest frames, while those before them are missing; later `frames` has them too. */
  tail(frames: RuntimeFrame[]): void;
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
  /** The newest frames, while those before them are missing. */
  private tail: RuntimeFrame[] | null = null;
  private isTailShown = false;
  /** The server did not have what its list said. */
  private isListWrong = false;
  /** Counts subscriptions: pages that an earlier one asked for count no longer. */
  private turn = 0;

  constructor(
    readonly session: string,
    private readonly socket: Socket,
    private readonly log: SessionLog,
    private readonly past: Past,
    private readonly events: FeedEvents,
  ) {}

  /** Reads what is stored, then subscribes if there is a connection. */
  async open(): Promise<void> {
    const stored = await this.log.read(this.session).catch(() => []);
    if (!this.isOpen) return;
    const end = stored.at(-1);
    this.last = end ? lastOf(end) : null;
    if (stored.length > 0) this.events.frames(stored);
    await this.subscribe();
  }

  /** Subscribes after a (re)connection. */
  async subscribe(): Promise<void> {
    if (!this.isOpen || this.isSubscribing || !this.socket.ready) return;
    this.isSubscribing = true;
    this.isLive = false;
    this.turn += 1;
    const head = this.isListWrong ? 0 : await this.past.head(this.session).catch(() => 0);
    const known = this.last?.seq ?? 0;
    this.tail = head - known > FAR ? [] : null;
    this.isTailShown = false;
    // The first page is compared with what is stored.
    this.isCompared = this.last === null || this.tail !== null;
    const after_seq = this.tail ? head - TAIL : Math.max(0, known - 1);
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
    if (this.tail) {
      this.isTailShown = true;
      this.events.tail([...this.tail]);
      await this.fill(this.turn);
    } else if (!this.isCompared) await this.restart();
    else this.events.caughtUp();
  }

  async onEvent(frame: RuntimeFrame): Promise<void> {
    if (!this.isOpen || !this.isLive) return;
    if (this.tail) {
      this.tail.push(frame);
      if (this.isTailShown) this.events.tail([frame]);
      return;
    }
    if (this.last) {
      const order = compare(place(frame), place(this.last));
      if (order === 0 && !this.isCompared) {
        if (JSON.stringify(frame) !== JSON.stringify(this.last)) return this.restart();
        this.isCompared = true;
      }
      if (order <= 0) return;
      if (!this.isCompared) return this.restart();
    }
    this.take([frame]);
  }

  private take(frames: RuntimeFrame[]): void {
    const last = frames.at(-1);
    if (!last) return;
    this.last = last;
    for (const frame of frames) this.unstored.push(frame);
    this.events.frames(frames);
    if (this.unstored.length >= STORE_FRAMES) void this.store();
    else this.timer ??= setTimeout(() => void this.store(), STORE_MS);
  }

  /** Asks for the events before the newest ones, page by page, and joins both. */
  private async fill(turn: number): Promise<void> {
    const isCurrent = () => this.isOpen && this.turn === turn && this.tail !== null;
    let after: number | null = this.last ? this.last.seq - 1 : 0;
    for (let failures = 0; after !== null; ) {
      const page: EventPage | null = await this.past.page(this.session, after, PAGE).catch(() => null);
      if (!isCurrent()) return;
      if (!page) {
        await new Promise((done) => setTimeout(done, pause(failures)));
        failures += 1;
        if (!isCurrent()) return;
        continue;
      }
      if (!this.followsLast(page)) return this.restart();
      this.take(page.items.filter((frame) => this.isNew(frame)));
      const from: RuntimeFrame | undefined = this.tail?.[0];
      after = from && this.last && this.last.seq >= from.seq ? null : (page.next_after_seq ?? null);
    }
    // The page was long; the whole session is drawn in a turn of its own.
    await new Promise((done) => setTimeout(done));
    if (!isCurrent()) return;
    const rest = (this.tail ?? []).filter((frame) => this.isNew(frame));
    this.tail = null;
    this.take(rest);
    this.events.caughtUp();
  }

  private isNew(frame: RuntimeFrame): boolean {
    return !this.last || compare(place(frame), place(this.last)) > 0;
  }

  /** Whether a page continues what is here: it has the last event again, or begins after it. */
  private followsLast(page: EventPage): boolean {
    const last = this.last;
    if (!last) return true;
    const same = page.items.find((frame) => compare(place(frame), place(last)) === 0);
    if (same) return JSON.stringify(same) === JSON.stringify(last);
    return page.items.every((frame) => frame.seq > last.seq);
  }

  /** Begins anew from the first event, because the stored ones are not those of the server. */
  private async restart(): Promise<void> {
    this.isLive = false;
    this.last = null;
    this.tail = null;
    this.turn += 1;
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
    // The server's session is shorter than what is stored here, or than its list said.
    if (problem.code === "refused" && (this.last || this.tail)) {
      this.isListWrong = this.tail !== null;
      return this.restart();
    }
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
