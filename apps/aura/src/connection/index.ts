// The connection of the page: one socket, the feeds of the sessions that are shown, and the outbox.
import type { ApprovalDecision, InputMode, Rule, RuntimeFrame, ServerNotice, WheelWish } from "../protocol";
import { Feed, type EventPage, type FeedEvents, type Past } from "./feed";
import { Http, type SessionInfo } from "./http";
import type { SessionLog, Unsent } from "./log";
import { forgetLogin, keptLogin } from "./login";
import { forgetPush } from "./push";
import { openSeats, randomKey } from "./seat";
import { Refusal, Socket, type ConnectionState, type SocketEvents } from "./socket";

export interface ConnectionEvents {
  /** Returns the last event of a session as the list of sessions has it. */
  listed(session: string): number | null;
  state(state: ConnectionState, retryAt: number | null): void;
  ready: SocketEvents["ready"];
  notice(notice: ServerNotice): void;
  /** An input was accepted as this event, or refused. */
  sent(input: Unsent, outcome: { seq: number } | { refusal: Refusal["problem"] }): void;
}

export class Connection {
  readonly http: Http;
  private readonly socket: Socket;
  private readonly feeds = new Map<string, Feed>();
  private readonly sending = new Set<string>();
  private readonly past: Past = {
    head: async (session) => this.events.listed(session) ?? (await this.headOf(session)),
    page: (session, after_seq, limit) =>
      this.http.get<EventPage>(`/v1/sessions/${session}/events`, { after_seq, limit, view: "runtime" }),
  };

  constructor(
    readonly client: string,
    private readonly log: SessionLog,
    private readonly events: ConnectionEvents,
    url: string = socketUrl(),
  ) {
    const token = () => keptLogin()?.token ?? null;
    this.http = new Http(keptLogin, this.client);
    this.socket = new Socket(
      { url, client: this.client, token, isSignedOut: () => this.isSignedOut() },
      {
        state: events.state,
        ready: (person, hello) => {
          events.ready(person, hello);
          for (const feed of this.feeds.values()) void feed.subscribe();
          void this.sendWaiting();
        },
        event: (frame) => void this.feeds.get(frame.session_id)?.onEvent(frame as RuntimeFrame),
        notice: (notice) => this.noticed(notice),
      },
    );
    const hurry = () => document.visibilityState === "visible" && this.socket.hurry();
    addEventListener("online", hurry);
    document.addEventListener("visibilitychange", hurry);
  }

  start(): void {
    this.socket.start();
  }

  /** Tries again now. */
  hurry(): void {
    this.socket.hurry();
  }

  /** Takes back the token of this browser, and forgets it with everything that was stored. */
  async signOut(): Promise<void> {
    await forgetPush().catch(() => undefined);
    const login = keptLogin();
    if (login) await this.http.delete(`/v1/tokens/${login.id}`).catch(() => undefined);
    this.socket.stop();
    forgetLogin();
    await this.log.clear().catch(() => undefined);
    this.events.state("signed_out", null);
  }

  open(session: string, events: FeedEvents): void {
    if (this.feeds.has(session)) return;
    const feed = new Feed(session, this.socket, this.log, this.past, events);
    this.feeds.set(session, feed);
    void feed.open();
  }

  close(session: string): void {
    const feed = this.feeds.get(session);
    this.feeds.delete(session);
    void feed?.close();
  }

  /** Sends an input. It is kept until the server has accepted it, also when the page is closed. */
  async send(input: Unsent): Promise<void> {
    await this.log.keepUnsent(input).catch(() => undefined);
    await this.deliver(input);
  }

  async approve(session: string, call: string, decision: ApprovalDecision, note?: string, rule?: Rule): Promise<void> {
    const payload = { session_id: session, tool_call_id: call, decision, note: note || null, rule: rule ?? null };
    await this.socket.request({ type: "approval", payload });
  }

  async interrupt(session: string): Promise<void> {
    const payload = { session_id: session, idempotency_key: randomKey() };
    await this.socket.request({ type: "interrupt", payload });
  }

  async command(session: string, command: string, args: unknown): Promise<void> {
    const payload = { session_id: session, command, args, idempotency_key: randomKey() };
    await this.socket.request({ type: "system_command", payload });
  }

  async wheel(session: string, wish: WheelWish): Promise<void> {
    await this.socket.request({ type: "wheel", payload: { session_id: session, wish } });
  }

  private async sendWaiting(): Promise<void> {
    const inputs = await this.log.unsent().catch(() => []);
    const open = await openSeats().catch(() => null);
    for (const input of inputs) {
      // Another tab sends its own, unless it was closed.
      if (input.client === this.client || (open && !open.includes(input.client))) await this.deliver(input);
    }
  }

  private async deliver(input: Unsent): Promise<void> {
    if (!this.socket.ready || this.sending.has(input.key)) return;
    this.sending.add(input.key);
    try {
      const accepted = await this.socket.request({
        type: "user_message",
        payload: {
          session_id: input.session,
          content: input.text,
          mode: input.mode satisfies InputMode,
          idempotency_key: input.key,
        },
      });
      await this.log.dropUnsent(input.key).catch(() => undefined);
      this.events.sent(input, { seq: accepted.seq ?? 0 });
    } catch (error) {
      // A cut connection says nothing about the input: it is sent again with the same key.
      if (error instanceof Refusal) {
        await this.log.dropUnsent(input.key).catch(() => undefined);
        this.events.sent(input, { refusal: error.problem });
      }
    } finally {
      this.sending.delete(input.key);
    }
  }

  private noticed(notice: ServerNotice): void {
    if (notice.event === "subscribed") {
      void this.feeds.get(notice.payload.session_id)?.onSubscribed(notice.payload);
    } else if (notice.event === "caught_up") {
      void this.feeds.get(notice.payload.session_id)?.onCaughtUp();
    } else if (notice.event === "unsubscribed") {
      const feed = this.feeds.get(notice.payload.session_id);
      const after = notice.payload.problem.retry_after_ms;
      if (feed && after) setTimeout(() => void feed.subscribe(), after);
    }
    this.events.notice(notice);
  }

  private async headOf(session: string): Promise<number> {
    return (await this.http.get<SessionInfo>(`/v1/sessions/${session}`)).last_seq;
  }

  private async isSignedOut(): Promise<boolean> {
    try {
      await this.http.get("/v1/me");
      return false;
    } catch (error) {
      return error instanceof Error && "status" in error && error.status === 401;
    }
  }
}

function socketUrl(): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/socket`;
}
