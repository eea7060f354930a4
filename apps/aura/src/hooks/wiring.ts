// Connects the store with the connection: frames go in, what people do goes out.
import { Connection } from "../connection";
import { claimSeat, randomKey } from "../connection/seat";
import { ApiProblem, Unreachable, type SessionInfo } from "../connection/http";
import { openLog, type SessionLog, type Unsent } from "../connection/log";
import { isRun, type Packed } from "../connection/packed";
import { browserName, keepLogin, keptLogin, takeCode, type Login } from "../connection/login";
import { Refusal, Cut } from "../connection/socket";
import type { ApprovalDecision, InputMode, Rule, RuntimeFrame, ServerNotice, WheelWish } from "../protocol";
import { addEnd, addFrames, caughtUp, change, get, opened, set, toast } from "../store/app";
import { text } from "../texts";

let connection: Connection;
let log: SessionLog;

/** The sessions are listed again after this time while the page is visible. */
const LIST_MS = 15_000;
const KEPT_LIST = "sessions";
/** Events that change how a session stands in the list. */
const LISTED = new Set(["run_started", "run_finished", "approval_requested", "session_updated"]);

/** Starts the page. */
export async function start(): Promise<void> {
  // Without a token nothing else is shown first.
  if (!keptLogin() && !location.hash.includes("code=")) set({ connection: "signed_out" });
  log = await openLog();
  connection = new Connection(await claimSeat(), log, {
    listed: (session) => get().sessions?.find((one) => one.session_id === session)?.last_seq ?? null,
    state: (state, retryAt) => set({ connection: state, retryAt }),
    ready: (person, hello) => {
      set({ person, server: hello.server, loginError: null });
      void list();
    },
    notice: noticed,
    sent: sentInput,
  });
  const { client } = connection;
  const unsent = await log.unsent().catch(() => []);
  set({ client, unsent: unsent.filter((input) => input.client === client) });
  const kept = await log.take<SessionInfo[]>(KEPT_LIST).catch(() => undefined);
  if (kept && get().sessions === null) set({ sessions: kept, person: keptLogin()?.person ?? null });
  await signIn(takeCode());
  connection.start();
  route();
  addEventListener("hashchange", () => {
    const code = takeCode();
    if (code) void signIn(code).then(() => connection.start());
    else route();
  });
  setInterval(() => {
    if (document.visibilityState === "visible" && get().connection === "online") void list();
  }, LIST_MS);
  if ("serviceWorker" in navigator && import.meta.env.PROD) void navigator.serviceWorker.register("/sw.js");
}

/** Exchanges a code for a token. */
export async function signIn(code: string | null): Promise<void> {
  if (!code) return;
  try {
    keepLogin(await connection.http.post<Login>("/v1/auth/page", { code, name: browserName() }));
    set({ loginError: null });
  } catch (error) {
    set({ loginError: words(error) });
  }
}

export function restart(): void {
  connection.start();
}

export function hurry(): void {
  connection.hurry();
}

export async function signOut(): Promise<void> {
  await connection.signOut();
  set({ sessions: null, open: null, person: null, unsent: [] });
}

/** Opens the session that the address names. */
function route(): void {
  const [, id = null, event] = /^#\/(ses_[\w-]+)(?:\/(\d+))?/.exec(location.hash) ?? [];
  const target = event ? Number(event) : null;
  const before = get().open;
  if (id === (before?.id ?? null)) {
    if (id && target !== null) change(id, () => ({ target }));
    return;
  }
  if (before) connection.close(before.id);
  set({ open: id ? opened(id, target) : null, panel: "none" });
  if (id) read(id);
}

/** Opens a session, at an event if one is named. */
export function go(session: string | null, event?: number): void {
  location.hash = session ? `#/${session}${event === undefined ? "" : `/${event}`}` : "#/";
}

function read(id: string): void {
  const frames = gathered<Packed>((entries) => {
    addFrames(id, entries);
    // Its entry in the list has changed with these.
    const isNews = entries.some((entry) => !isRun(entry) && LISTED.has(entry.event));
    if (isNews && get().open?.isCaughtUp) void list();
  });
  const tail = gathered<RuntimeFrame>((entries) => addEnd(id, entries));
  connection.open(id, {
    frames(entries) {
      frames.add(entries);
      // Pages of the past change nothing on the screen.
      if (get().open?.isPartial) frames.flush();
    },
    tail: (entries) => tail.add(entries),
    restarted() {
      frames.drop();
      tail.drop();
      change(id, () => ({ ...opened(id), wentBack: true }));
    },
    subscribed(notice) {
      // The end that comes now stands for itself.
      tail.drop();
      change(id, () => ({ role: notice.role, problem: null, isPartial: false }));
    },
    caughtUp() {
      tail.drop();
      frames.flush();
      caughtUp(id);
    },
    ended: (problem) => change(id, () => ({ problem })),
  });
}

/** Pages that nobody sees get no pictures; what comes is shown at the latest after this time. */
const UNSEEN_MS = 250;

/** Gathers what comes until the next picture of the screen. */
function gathered<T>(give: (entries: T[]) => void) {
  let waiting: T[] = [];
  let picture = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    cancelAnimationFrame(picture);
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const entries = waiting;
    waiting = [];
    if (entries.length > 0) give(entries);
  };
  const add = (entries: T[]) => {
    for (const entry of entries) waiting.push(entry);
    if (timer !== null) return;
    timer = setTimeout(flush, UNSEEN_MS);
    picture = requestAnimationFrame(flush);
  };
  const drop = () => {
    waiting = [];
  };
  return { add, flush, drop };
}

function noticed(notice: ServerNotice): void {
  if (notice.event === "presence") change(notice.payload.session_id, () => ({ people: notice.payload.people }));
  else if (notice.event === "wheel") change(notice.payload.session_id, () => ({ wheel: notice.payload }));
  else if (notice.event === "unsubscribed" && !notice.payload.problem.retry_after_ms) {
    change(notice.payload.session_id, () => ({ problem: notice.payload.problem }));
    void list();
  } else if (notice.event === "approval_waiting") {
    toast(text("memberWaits", { who: notice.payload.owner_name ?? notice.payload.owner, tool: notice.payload.name }));
  }
}

/** Lists the sessions again. */
export async function list(): Promise<void> {
  try {
    const page = await connection.http.get<{ items: SessionInfo[] }>("/v1/sessions", { limit: 100 });
    set({ sessions: page.items, sessionsError: null });
    await log.put(KEPT_LIST, page.items).catch(() => undefined);
  } catch (error) {
    set({ sessionsError: words(error) });
  }
}

export function http(): Connection["http"] {
  return connection.http;
}

/** Makes a session with the server's agent, or with the named one, and opens it. */
export async function create(agent: string | null = null): Promise<string | null> {
  return attempt(async () => {
    const body = agent ? { agent } : { config: await connection.http.get("/v1/agent") };
    const made = await connection.http.post<{ session_id: string }>("/v1/sessions", body, randomKey());
    go(made.session_id);
    void list();
    return made.session_id;
  });
}

export function send(session: string, words: string, mode: InputMode): void {
  const input: Unsent = { key: randomKey(), session, client: get().client, at: Date.now(), text: words, mode };
  set((state) => ({ unsent: [...state.unsent, input] }));
  void connection.send(input);
}

function sentInput(input: Unsent, outcome: { seq: number } | { refusal: Refusal["problem"] }): void {
  set((state) => ({ unsent: state.unsent.filter((one) => one.key !== input.key) }));
  if ("refusal" in outcome) toast(outcome.refusal.detail, true);
  else void list();
}

export const approve = (session: string, call: string, decision: ApprovalDecision, note?: string, rule?: Rule) =>
  attempt(() => connection.approve(session, call, decision, note, rule));

export const interrupt = (session: string) => attempt(() => connection.interrupt(session));

export const command = (session: string, name: string, args: unknown) =>
  attempt(() => connection.command(session, name, args));

export const wheel = (session: string, wish: WheelWish) => attempt(() => connection.wheel(session, wish));

export const rename = (session: string, title: string) =>
  attempt(async () => {
    await connection.command(session, "rename", { title });
    await list();
  });

export const remove = (session: string) =>
  attempt(async () => {
    await connection.http.delete(`/v1/sessions/${session}`);
    if (get().open?.id === session) go(null);
    await log.forget(session).catch(() => undefined);
    await list();
  });

export const fork = (session: string, at_seq: number) =>
  attempt(async () => {
    const path = `/v1/sessions/${session}/fork`;
    const made = await connection.http.post<{ session_id: string }>(path, { at_seq }, randomKey());
    go(made.session_id);
    await list();
  });

/** Does something, and shows what went wrong. */
export async function attempt<T>(what: () => Promise<T>): Promise<T | null> {
  try {
    return await what();
  } catch (error) {
    toast(words(error), true);
    return null;
  }
}

/** Returns what went wrong, in words for people. */
export function words(error: unknown): string {
  if (error instanceof ApiProblem || error instanceof Refusal) return error.problem.detail;
  if (error instanceof Unreachable || error instanceof Cut) return text("serverAway");
  return String(error);
}
