// Signing in: a code from the address that `agentx serve` prints becomes a token, which this browser keeps.
import type { Person } from "../protocol";

/** A token of this browser, and its owner. */
export interface Login {
  token: string;
  id: string;
  person: Person;
  expires_at_ms: number;
}

const KEY = "aura.login";
const CODE = /(?:^#|&)code=([\w-]+)/;

/** Returns the kept login, unless it has expired. */
export function keptLogin(now: number = Date.now()): Login | null {
  try {
    const login = JSON.parse(localStorage.getItem(KEY) ?? "null") as Login | null;
    return login && login.expires_at_ms > now ? login : null;
  } catch {
    return null;
  }
}

export function keepLogin(login: Login): void {
  localStorage.setItem(KEY, JSON.stringify(login));
}

export function forgetLogin(): void {
  localStorage.removeItem(KEY);
}

/** Takes the code out of the address, so that it stays neither in the bar nor in the history. */
export function takeCode(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (code) history.replaceState(null, "", location.pathname);
  return code;
}

/** Returns a name for this browser, as lists of tokens show it. */
export function browserName(agent: string = navigator.userAgent): string {
  const browsers: [RegExp, string][] = [
    [/Edg\//, "Edge"],
    [/Firefox\//, "Firefox"],
    [/Chrome\//, "Chrome"],
    [/Safari\//, "Safari"],
  ];
  const systems: [RegExp, string][] = [
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Mac OS/, "macOS"],
    [/Windows/, "Windows"],
    [/Linux/, "Linux"],
  ];
  const find = (pairs: [RegExp, string][]) => pairs.find(([sign]) => sign.test(agent))?.[1];
  return [find(browsers) ?? "browser", find(systems)].filter(Boolean).join("-");
}
