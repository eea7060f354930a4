// The name of this tab among the programs of its person. Each open tab has one of its own, which stays the same
// when it connects or is loaded again.

const KEPT = "aura.seat";
const PREFIX = "aura.tab.";

/** Returns a key that nobody else makes. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the name of this tab, and holds it while the tab is open. */
export async function claimSeat(): Promise<string> {
  const kept = sessionStorage.getItem(KEPT);
  // A duplicated tab begins with the name of the other one, which is open.
  const name = kept && (await hold(kept)) ? kept : `web-${randomKey().slice(0, 4)}`;
  if (name !== kept) await hold(name);
  sessionStorage.setItem(KEPT, name);
  return name;
}

/** Returns the names of the tabs of this browser that are open; `null` if it does not tell. */
export async function openSeats(): Promise<string[] | null> {
  if (!navigator.locks) return null;
  const { held } = await navigator.locks.query();
  const names = (held ?? []).map((lock) => lock.name ?? "");
  return names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
}

/** Holds a name until the tab is closed. Returns whether no other tab has it. */
function hold(name: string): Promise<boolean> {
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    void navigator.locks.request(`${PREFIX}${name}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise(() => undefined);
    });
  });
}
