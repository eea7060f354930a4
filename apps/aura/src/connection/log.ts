// The log of sessions in this browser (IndexedDB): what was seen can be read without the server, and a reader
// begins after the last event that it has.
import type { RuntimeFrame } from "../protocol";
import { firstOf, lastOf, packed, unpacked, type Packed } from "./packed";
import { compare, place } from "./place";

const NAME = "aura";
const VERSION = 1;
/** The number of sessions that are kept; the one that was read least recently goes first. */
export const KEPT_SESSIONS = 50;

/** Frames that were stored together. Tabs may store the same ones: readers skip what they have. */
interface Batch {
  session: string;
  seq: number;
  index: number;
  /** The frames, packed, as JSON: browsers copy a text much faster than objects. */
  text: string;
}

/** An input that the server has not accepted yet. */
export interface Unsent {
  key: string;
  session: string;
  /** The tab in which it was typed. */
  client: string;
  at: number;
  text: string;
  mode: "queue" | "steer" | "interrupt";
}

export interface KeptSession {
  session: string;
  usedAt: number;
}

/** A log that keeps nothing, for browsers that refuse storage. */
export interface SessionLog {
  read(session: string): Promise<Packed[]>;
  append(session: string, frames: RuntimeFrame[]): Promise<void>;
  forget(session: string): Promise<void>;
  clear(): Promise<void>;
  kept(): Promise<string[]>;
  keepUnsent(input: Unsent): Promise<void>;
  dropUnsent(key: string): Promise<void>;
  unsent(): Promise<Unsent[]>;
  put(name: string, value: unknown): Promise<void>;
  take<T>(name: string): Promise<T | undefined>;
}

export async function openLog(factory: IDBFactory | undefined = globalThis.indexedDB): Promise<SessionLog> {
  if (!factory) return new MemoryLog();
  try {
    return new StoredLog(await opened(factory));
  } catch {
    return new MemoryLog();
  }
}

function opened(factory: IDBFactory): Promise<IDBDatabase> {
  const request = factory.open(NAME, VERSION);
  request.onupgradeneeded = () => {
    const db = request.result;
    db.createObjectStore("batches", { keyPath: ["session", "seq", "index"] });
    db.createObjectStore("sessions", { keyPath: "session" });
    db.createObjectStore("unsent", { keyPath: "key" });
    db.createObjectStore("values");
  };
  return done(request);
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
  });
}

function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the browser's storage failed"));
  });
}

class StoredLog implements SessionLog {
  /** Sessions after whose first batch the oldest were removed. */
  private readonly pruned = new Set<string>();

  constructor(private readonly db: IDBDatabase) {}

  async read(session: string): Promise<Packed[]> {
    const store = this.db.transaction("batches").objectStore("batches");
    const range = IDBKeyRange.bound([session], [session, []]);
    const batches = (await done(store.getAll(range))) as Batch[];
    return merged(batches.map((batch) => JSON.parse(batch.text) as Packed[]));
  }

  async append(session: string, frames: RuntimeFrame[]): Promise<void> {
    const first = frames[0];
    if (!first) return;
    const transaction = this.db.transaction(["batches", "sessions"], "readwrite");
    const batch: Batch = { session, seq: first.seq, index: first.index ?? 0, text: JSON.stringify(packed(frames)) };
    transaction.objectStore("batches").put(batch);
    transaction.objectStore("sessions").put({ session, usedAt: Date.now() } satisfies KeptSession);
    await committed(transaction);
    if (!this.pruned.has(session)) {
      this.pruned.add(session);
      await this.prune();
    }
  }

  async forget(session: string): Promise<void> {
    const transaction = this.db.transaction(["batches", "sessions"], "readwrite");
    transaction.objectStore("batches").delete(IDBKeyRange.bound([session], [session, []]));
    transaction.objectStore("sessions").delete(session);
    await committed(transaction);
  }

  async clear(): Promise<void> {
    const names = ["batches", "sessions", "unsent", "values"];
    const transaction = this.db.transaction(names, "readwrite");
    for (const name of names) transaction.objectStore(name).clear();
    await committed(transaction);
  }

  async kept(): Promise<string[]> {
    const sessions = (await done(this.db.transaction("sessions").objectStore("sessions").getAll())) as KeptSession[];
    return sessions.sort((a, b) => b.usedAt - a.usedAt).map((kept) => kept.session);
  }

  async keepUnsent(input: Unsent): Promise<void> {
    const transaction = this.db.transaction("unsent", "readwrite");
    transaction.objectStore("unsent").put(input);
    await committed(transaction);
  }

  async dropUnsent(key: string): Promise<void> {
    const transaction = this.db.transaction("unsent", "readwrite");
    transaction.objectStore("unsent").delete(key);
    await committed(transaction);
  }

  async unsent(): Promise<Unsent[]> {
    const inputs = (await done(this.db.transaction("unsent").objectStore("unsent").getAll())) as Unsent[];
    return inputs.sort((a, b) => a.at - b.at);
  }

  async put(name: string, value: unknown): Promise<void> {
    const transaction = this.db.transaction("values", "readwrite");
    transaction.objectStore("values").put(value, name);
    await committed(transaction);
  }

  async take<T>(name: string): Promise<T | undefined> {
    return (await done(this.db.transaction("values").objectStore("values").get(name))) as T | undefined;
  }

  private async prune(): Promise<void> {
    const kept = await this.kept();
    for (const session of kept.slice(KEPT_SESSIONS)) await this.forget(session);
  }
}

/** Returns frames in order, each once. */
export function merged(batches: Packed[][]): Packed[] {
  const last = batches.map((batch) => batch.at(-1)).map((entry) => entry && place(lastOf(entry)));
  const inOrder = batches.every((batch, at) => {
    const first = batch[0] && place(firstOf(batch[0]));
    const before = last[at - 1];
    return !first || !before || compare(before, first) < 0;
  });
  if (inOrder) return batches.flat();
  // Batches of several tabs overlap: an earlier one may reach beyond the beginning of a later one.
  const all = batches.flatMap(unpacked).sort((a, b) => compare(place(a), place(b)));
  return all.filter((frame, at) => {
    const before = all[at - 1];
    return !before || compare(place(before), place(frame)) !== 0;
  });
}

class MemoryLog implements SessionLog {
  private inputs = new Map<string, Unsent>();
  private values = new Map<string, unknown>();

  read = async () => [];
  append = async () => {};
  forget = async () => {};
  kept = async () => [];

  async clear(): Promise<void> {
    this.inputs.clear();
    this.values.clear();
  }

  async keepUnsent(input: Unsent): Promise<void> {
    this.inputs.set(input.key, input);
  }

  async dropUnsent(key: string): Promise<void> {
    this.inputs.delete(key);
  }

  async unsent(): Promise<Unsent[]> {
    return [...this.inputs.values()];
  }

  async put(name: string, value: unknown): Promise<void> {
    this.values.set(name, value);
  }

  async take<T>(name: string): Promise<T | undefined> {
    return this.values.get(name) as T | undefined;
  }
}
