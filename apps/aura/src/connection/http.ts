// Requests over HTTP: what the socket does not carry, such as lists and the state of a session.
import type { Problem } from "../protocol";
import type { Login } from "./login";
import type { paths } from "./openapi";

/** An answer of the server that is an error. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.detail);
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;
type Ok<T> = T extends { responses: { 200: infer R } } ? Json<R> : T extends { responses: { 201: infer R } } ? Json<R> : never;

/** The JSON that a path answers, by method, as the server describes it. */
export type Answer<P extends keyof paths, M extends keyof paths[P]> = Ok<paths[P][M]>;

export type SessionInfo = Answer<"/v1/sessions", "get">["items"][number];
export type SessionState = Answer<"/v1/sessions/{id}/state", "get">;
export type PendingApproval = SessionState["pending_approvals"][number];
export type FileInQuestion = Answer<"/v1/sessions/{id}/file", "get">;
export type NamedAgent = Answer<"/v1/agents", "get">[number];
export type ContextView = Answer<"/v1/sessions/{id}/context", "get">;
export type UsageRow = Answer<"/v1/usage", "get">[number];
export type KeptToken = Answer<"/v1/tokens", "get">[number] & { page?: boolean };
export type ListedModel = Answer<"/v1/models", "get">[number];

/** A memory or a proposal of one. */
export interface Memory {
  id: number;
  text: string;
  state: "proposed" | "accepted" | "refused";
  pinned: boolean;
  folder?: string;
  session_id?: string;
  seq?: number;
  created_at: number;
  changed_at: number;
}

export interface MemoryPage {
  enabled: boolean;
  waiting: number;
  accepted: number;
  items: Memory[];
}

/** The requests of one signed-in browser tab. */
export class Http {
  constructor(
    private readonly login: () => Login | null,
    private readonly client: string,
  ) {}

  get<T>(path: string, query: Record<string, string | number | boolean | undefined> = {}): Promise<T> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") parameters.set(name, String(value));
    }
    const text = parameters.toString();
    return this.send<T>("GET", text ? `${path}?${text}` : path);
  }

  post<T>(path: string, body: unknown, key?: string): Promise<T> {
    return this.send<T>("POST", path, body, key);
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.send<T>("PATCH", path, body);
  }

  delete(path: string): Promise<void> {
    return this.send<void>("DELETE", path);
  }

  private async send<T>(method: string, path: string, body?: unknown, key?: string): Promise<T> {
    const headers: Record<string, string> = { "agentx-client": this.client };
    const login = this.login();
    if (login) headers.authorization = `Bearer ${login.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    if (key) headers["idempotency-key"] = key;
    let response: Response;
    try {
      response = await fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: "no-store",
      });
    } catch (error) {
      throw new Unreachable(String(error));
    }
    if (!response.ok) throw await problemOf(response);
    const text = await response.text();
    return (text ? JSON.parse(text) : undefined) as T;
  }
}

async function problemOf(response: Response): Promise<Error> {
  try {
    return new ApiProblem(response.status, (await response.json()) as Problem);
  } catch {
    // A proxy answers in its own words, for example when the server behind it is away.
    if (response.status >= 502) return new Unreachable(`status ${response.status}`);
    return new ApiProblem(response.status, { code: "unknown", detail: `status ${response.status}` });
  }
}
