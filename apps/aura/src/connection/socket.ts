// One WebSocket to the server, which comes back by itself: requests, their answers, and all frames.
//
// It knows nothing of sessions beyond what it has to send again. `Feed` keeps the place in a session.
import type { Accepted, ClientFrame, Frame, Hello, Person, Problem, ServerNotice } from "../protocol";
import { pause } from "./backoff";

/** How the connection stands, as people see it. */
export type ConnectionState = "connecting" | "online" | "offline" | "signed_out";

export type ClientRequest = ClientFrame extends infer F ? (F extends { id: string } ? Omit<F, "id"> : never) : never;

/** The server refused a request. */
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

/** The connection broke before the answer came. */
export class Cut extends Error {}

export interface SocketEvents {
  state(state: ConnectionState, retryAt: number | null): void;
  /** Identified: subscriptions can be made. */
  ready(person: Person, hello: Hello): void;
  event(frame: Frame & { event: string; payload: unknown }): void;
  notice(notice: ServerNotice): void;
}

export interface SocketOptions {
  url: string;
  client: string;
  token(): string | null;
  /** Asks over HTTP why a socket did not open: browsers do not tell a page. */
  isSignedOut(): Promise<boolean>;
  open?: (url: string, protocols: string[]) => WebSocket;
}

interface Waiting {
  resolve(accepted: Accepted): void;
  reject(error: Error): void;
}

export class Socket {
  private socket: WebSocket | null = null;
  private waiting = new Map<string, Waiting>();
  private ids = 0;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | null = null;
  private watch: ReturnType<typeof setTimeout> | null = null;
  private heartbeatMs = 15_000;
  private heardAt = 0;
  private hello: Hello | null = null;
  private retryAfterMs: number | null = null;
  private closed = true;
  private isReady = false;

  constructor(
    private readonly options: SocketOptions,
    private readonly events: SocketEvents,
  ) {}

  start(): void {
    this.closed = false;
    this.failures = 0;
    this.connect();
  }

  stop(): void {
    this.closed = true;
    this.clearTimers();
    this.drop();
  }

  /** Connects at once, if it waits to: the network is back, or the person looks at the page. */
  hurry(): void {
    if (!this.closed && this.retry !== null) {
      this.failures = 0;
      this.connect();
    }
  }

  get ready(): boolean {
    return this.isReady;
  }

  /** Sends a request, and resolves with its answer. */
  request(frame: ClientRequest): Promise<Accepted> {
    const socket = this.socket;
    if (!socket || socket.readyState !== WebSocket.OPEN) return Promise.reject(new Cut("not connected"));
    const id = String(++this.ids);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ ...frame, id }));
    });
  }

  private connect(): void {
    this.clearTimers();
    this.drop();
    const token = this.options.token();
    if (!token) {
      this.events.state("signed_out", null);
      return;
    }
    this.events.state("connecting", null);
    this.retryAfterMs = null;
    const open = this.options.open ?? ((url, protocols) => new WebSocket(url, protocols));
    const socket = open(this.options.url, ["agentx.v1", `agentx.bearer.${token}`]);
    this.socket = socket;
    socket.onmessage = (message) => {
      if (this.socket === socket) this.received(String(message.data));
    };
    socket.onclose = (event) => {
      if (this.socket === socket) void this.lost(event.code);
    };
    this.alive();
  }

  private received(text: string): void {
    this.alive();
    let frame: { event?: string; seq?: number; payload?: unknown };
    try {
      frame = JSON.parse(text);
    } catch {
      return;
    }
    if (typeof frame.seq === "number") {
      this.events.event(frame as Frame & { event: string; payload: unknown });
      return;
    }
    const notice = frame as ServerNotice;
    if (notice.event === "hello") this.greeted(notice.payload);
    else if (notice.event === "accepted") this.settle(notice.payload.id)?.resolve(notice.payload);
    else if (notice.event === "refused") this.settle(notice.payload.id ?? "")?.reject(new Refusal(notice.payload.problem));
    else if (notice.event === "bye") this.retryAfterMs = notice.payload.retry_after_ms ?? null;
    this.events.notice(notice);
  }

  private greeted(hello: Hello): void {
    this.hello = hello;
    this.heartbeatMs = hello.heartbeat_ms;
    const socket = this.socket;
    this.request({ type: "authenticate", payload: { client: this.options.client } }).then(
      (accepted) => {
        if (this.socket !== socket) return;
        this.failures = 0;
        this.isReady = true;
        this.events.state("online", null);
        this.events.ready(accepted.result as Person, hello);
      },
      (error: unknown) => {
        if (error instanceof Refusal && !error.problem.retry_after_ms) this.signedOut();
      },
    );
  }

  private settle(id: string): Waiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    return waiting;
  }

  private async lost(code: number): Promise<void> {
    const opened = this.hello !== null;
    this.drop();
    if (this.closed) return;
    if (code === 1008 && !opened) return this.signedOut();
    if ((!opened || code === 1008) && (await this.options.isSignedOut().catch(() => false))) return this.signedOut();
    if (this.closed || this.socket) return;
    const wait = this.retryAfterMs ?? pause(this.failures);
    this.failures += 1;
    this.events.state("offline", Date.now() + wait);
    this.retry = setTimeout(() => this.connect(), wait);
  }

  private signedOut(): void {
    this.closed = true;
    this.clearTimers();
    this.drop();
    this.events.state("signed_out", null);
  }

  /** Counts the connection as dead when nothing comes for twice the heartbeat. One timer watches all frames. */
  private alive(): void {
    this.heardAt = Date.now();
    this.watch ??= setTimeout(() => this.listen(), 2 * this.heartbeatMs);
  }

  private listen(): void {
    const rest = this.heardAt + 2 * this.heartbeatMs - Date.now();
    this.watch = rest > 0 ? setTimeout(() => this.listen(), rest) : null;
    if (rest <= 0) void this.lost(1006);
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    this.hello = null;
    this.isReady = false;
    if (socket) {
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const request of waiting) request.reject(new Cut("the connection broke"));
  }

  private clearTimers(): void {
    if (this.retry !== null) clearTimeout(this.retry);
    if (this.watch !== null) clearTimeout(this.watch);
    this.retry = null;
    this.watch = null;
  }
}
