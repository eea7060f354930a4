// What a component asks the server for: the answer, why there is none, and a way to ask again.
import { useCallback, useEffect, useState } from "react";
import { useApp } from "../store/app";
import { http, words } from "./wiring";

type Query = Record<string, string | number | boolean | undefined>;

export interface Asked<T> {
  value: T | null;
  error: string | null;
  again: () => void;
}

/** A question that changes fast, as with the slider, is asked when it has stayed for this time. */
const SETTLED_MS = 120;

interface When {
  /** The question changes fast. */
  isFast?: boolean;
  /** It is asked again when this changes. */
  step?: number;
}

/** Asks for a path, if there is one, and again when the server is back. The last answer stays until the next. */
export function useAnswer<T>(path: string | null, query: Query = {}, { isFast = false, step = 0 }: When = {}): Asked<T> {
  const [state, setState] = useState<{ value: T | null; error: string | null }>({ value: null, error: null });
  const [round, setRound] = useState(0);
  const isOnline = useApp((app) => app.connection === "online");
  const asked = JSON.stringify(query);
  useEffect(() => {
    if (path === null) return;
    let isCurrent = true;
    const ask = () =>
      http()
        .get<T>(path, JSON.parse(asked) as Query)
        .then((value) => isCurrent && setState({ value, error: null }))
        .catch((error: unknown) => isCurrent && setState({ value: null, error: words(error) }));
    const timer = setTimeout(() => void ask(), isFast ? SETTLED_MS : 0);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [path, asked, round, isOnline, isFast, step]);
  const again = useCallback(() => setRound((count) => count + 1), []);
  return { ...state, again };
}
