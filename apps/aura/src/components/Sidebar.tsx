// The list of sessions: searched by title, folder and text, grouped by day.
import { useEffect, useMemo, useState } from "react";
import type { SessionInfo } from "../connection/http";
import { create, go, http, list } from "../hooks/wiring";
import { closePanel, showSettings, useApp, type Language } from "../store/app";
import { textIn, useTexts } from "../texts";
import { moment, shortPath } from "./format";
import { Close, Fork, Gear, Logo, Plus, Search } from "./icons";
import { Bone, Button, IconButton, Kbd } from "./parts";

interface Found {
  session_id: string;
  seq: number;
  snippet: string;
}

export function Sidebar({ isDrawer = false }: { isDrawer?: boolean }) {
  const t = useTexts();
  const sessions = useApp((state) => state.sessions);
  const error = useApp((state) => state.sessionsError);
  const current = useApp((state) => state.open?.id ?? null);
  const language = useApp((state) => state.language);
  const [query, setQuery] = useState("");
  const found = useSearch(query);
  const shown = useMemo(() => matching(sessions ?? [], query), [sessions, query]);
  const groups = useMemo(() => byDay(shown, language), [shown, language]);
  const others = found.filter((one) => !shown.some((session) => session.session_id === one.session_id));
  return (
    <nav className="flex h-full flex-col bg-side" aria-label={t("sessions")}>
      <div className="flex h-14 items-center gap-1 pr-2 pl-4">
        <Logo size={24} />
        <span className="flex-1 pl-1.5 font-semibold tracking-tight">AgentX</span>
        {isDrawer && (
          <IconButton label={t("close")} onClick={closePanel}>
            <Close />
          </IconButton>
        )}
      </div>
      <div className="space-y-2 px-3 pb-2">
        <Button className="w-full justify-start" onClick={() => void create()}>
          <Plus size={17} /> {t("newSession")}
        </Button>
        <label className="flex h-9 items-center gap-2 rounded-md border border-transparent bg-sunk px-2.5 text-faint focus-within:border-accent">
          <Search size={16} />
          <input
            type="search"
            id="search"
            value={query}
            onChange={(event) => setQuery(event.target.value)}
            placeholder={t("searchSessions")}
            aria-label={t("searchSessions")}
            className="min-w-0 flex-1 bg-transparent text-sm text-ink outline-none placeholder:text-faint"
          />
          <span className="hidden lg:block">
            <Kbd>Ctrl K</Kbd>
          </span>
        </label>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        {sessions === null && !error && <Loading />}
        {sessions === null && error && (
          <div className="space-y-2 px-2 py-6 text-sm text-soft">
            <p className="font-medium text-ink">{t("listFailed")}</p>
            <p className="break-words">{error}</p>
            <Button onClick={() => void list()}>{t("retry")}</Button>
          </div>
        )}
        {sessions?.length === 0 && (
          <div className="px-2 py-6 text-sm text-soft">
            <p className="font-medium text-ink">{t("noSessions")}</p>
            <p className="mt-1">{t("noSessionsHint")}</p>
          </div>
        )}
        {groups.map(([day, items]) => (
          <section key={day}>
            <h2 className="px-2 pt-4 pb-1 text-xs font-semibold text-faint">{day}</h2>
            <ul>
              {items.map((session) => (
                <Row key={session.session_id} session={session} isCurrent={session.session_id === current} />
              ))}
            </ul>
          </section>
        ))}
        {others.length > 0 && (
          <section>
            <h2 className="px-2 pt-4 pb-1 text-xs font-semibold text-faint">{t("foundInText")}</h2>
            <ul>
              {others.map((one) => (
                <li key={`${one.session_id}-${one.seq}`}>
                  <button
                    type="button"
                    onClick={() => go(one.session_id, one.seq)}
                    className="block w-full rounded-md px-2 py-2 text-left text-sm text-soft hover:bg-sunk"
                  >
                    <span className="line-clamp-2 break-words">{one.snippet}</span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {query !== "" && shown.length === 0 && others.length === 0 && (
          <p className="px-2 py-6 text-sm text-soft">{t("noMatches")}</p>
        )}
      </div>
      <Foot />
    </nav>
  );
}

function Loading() {
  const t = useTexts();
  return (
    <div className="space-y-4 px-2 pt-6" role="status" aria-label={t("loading")}>
      {[72, 54, 80, 46].map((width) => (
        <div key={width} className="space-y-2">
          <Bone className="h-3.5 w-3/4" />
          <Bone className="h-3 w-1/2" />
        </div>
      ))}
    </div>
  );
}

const WAITS = new Set(["awaiting_approval"]);
const WORKS = new Set(["pending", "building_context", "awaiting_llm", "awaiting_tool", "stopping"]);

function Row({ session, isCurrent }: { session: SessionInfo; isCurrent: boolean }) {
  const t = useTexts();
  const language = useApp((state) => state.language);
  // The open session tells at once how it stands; the list is asked for now and then.
  const live = useApp(({ open }) =>
    open?.id === session.session_id && open.isCaughtUp ? open.now.run?.status : undefined,
  );
  const status = live ?? session.status ?? "";
  return (
    <li>
      <a
        href={`#/${session.session_id}`}
        aria-current={isCurrent ? "page" : undefined}
        className={`block rounded-md px-2 py-2 hover:bg-sunk ${isCurrent ? "bg-sunk" : ""}`}
      >
        <span className="flex items-center gap-2">
          <span className={`min-w-0 flex-1 truncate text-sm ${isCurrent ? "font-semibold" : "font-medium"}`}>
            {session.title || t("untitled")}
          </span>
          {WAITS.has(status) && <span className="size-2 rounded-full bg-warn" title={t("st_approval")} />}
          {WORKS.has(status) && <span className="size-2 animate-breathe rounded-full bg-accent" title={t("running")} />}
        </span>
        <span className="mt-0.5 flex items-center gap-1.5 text-xs text-faint">
          {session.parent && <Fork size={12} />}
          <span className="min-w-0 flex-1 truncate">{shortPath(session.workspace, "")}</span>
          <time className="tabular-nums">{moment(session.updated_at, language)}</time>
        </span>
      </a>
    </li>
  );
}

function Foot() {
  const t = useTexts();
  const person = useApp((state) => state.person);
  const connection = useApp((state) => state.connection);
  const isOnline = connection === "online";
  const name = person?.person === "own_local" ? t("operator") : (person?.name ?? person?.person ?? "");
  return (
    <div className="flex items-center border-t border-line p-2">
      <button
        type="button"
        onClick={() => showSettings("you")}
        title={t("settings")}
        className="flex min-h-10 w-full min-w-0 items-center gap-2.5 rounded-md px-2 text-left text-sm hover:bg-sunk"
      >
        <span className={`size-2 shrink-0 rounded-full ${isOnline ? "bg-good" : "bg-line-strong"}`} />
        <span className="min-w-0 flex-1 truncate text-soft">
          {isOnline ? name : t(connection === "offline" ? "offline" : "connecting")}
        </span>
        <span className="sr-only">{t("settings")}</span>
        <Gear size={17} className="text-faint" />
      </button>
    </div>
  );
}

function matching(sessions: SessionInfo[], query: string): SessionInfo[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return sessions;
  return sessions.filter((session) => {
    const text = `${session.title} ${session.workspace} ${session.model} ${session.session_id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function byDay(sessions: SessionInfo[], language: Language): [string, SessionInfo[]][] {
  const day = (time: number) => new Date(time).toDateString();
  const today = day(Date.now());
  const yesterday = day(Date.now() - 86_400_000);
  const groups: Record<"today" | "yesterday" | "earlier", SessionInfo[]> = { today: [], yesterday: [], earlier: [] };
  for (const session of sessions) {
    const when = day(session.updated_at / 1000);
    groups[when === today ? "today" : when === yesterday ? "yesterday" : "earlier"].push(session);
  }
  return (["today", "yesterday", "earlier"] as const)
    .filter((name) => groups[name].length > 0)
    .map((name) => [textIn(language, name), groups[name]]);
}

const SEARCH_AFTER_MS = 250;

function useSearch(query: string): Found[] {
  const [found, setFound] = useState<Found[]>([]);
  useEffect(() => {
    if (query.trim().length < 3) {
      setFound([]);
      return;
    }
    let isCurrent = true;
    const timer = setTimeout(() => {
      http()
        .get<Found[]>("/v1/search", { q: query, limit: 20 })
        .then((items) => isCurrent && setFound(items))
        .catch(() => isCurrent && setFound([]));
    }, SEARCH_AFTER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [query]);
  return found;
}
