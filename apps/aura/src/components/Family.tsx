// The tree of forks that a session belongs to.
import type { SessionInfo } from "../connection/http";
import { useApp } from "../store/app";
import { useTexts } from "../texts";
import { Group } from "./parts";

/** A session of the family, and how far it stands to the right. */
export interface Relative {
  session: SessionInfo;
  depth: number;
}

/** Returns the family of a session: its oldest ancestor that is listed, and everything that was forked from it. */
export function familyOf(id: string, sessions: SessionInfo[]): Relative[] {
  const byId = new Map(sessions.map((session) => [session.session_id as string, session]));
  let root = byId.get(id);
  const seen = new Set<string>();
  while (root?.parent && byId.has(root.parent[0]) && !seen.has(root.session_id)) {
    seen.add(root.session_id);
    root = byId.get(root.parent[0]);
  }
  const found: Relative[] = [];
  const visit = (session: SessionInfo, depth: number) => {
    if (found.some((one) => one.session === session)) return;
    found.push({ session, depth });
    const forks = sessions.filter((one) => one.parent?.[0] === session.session_id);
    forks.sort((a, b) => (a.parent?.[1] ?? 0) - (b.parent?.[1] ?? 0) || a.created_at - b.created_at);
    for (const fork of forks) visit(fork, depth + 1);
  };
  if (root) visit(root, 0);
  return found;
}

export function Family({ id }: { id: string }) {
  const t = useTexts();
  const sessions = useApp((state) => state.sessions);
  const family = familyOf(id, sessions ?? []);
  if (family.length < 2) return null;
  return (
    <Group label={t("forks")}>
      <ul>
        {family.map(({ session, depth }) => (
          <li key={session.session_id} style={{ paddingLeft: `${Math.min(depth, 6) * 14}px` }}>
            <a
              href={`#/${session.session_id}`}
              aria-current={session.session_id === id ? "page" : undefined}
              className={`flex min-h-9 items-center gap-2 rounded-md px-2 text-sm hover:bg-sunk ${session.session_id === id ? "bg-sunk font-semibold" : ""}`}
            >
              <span className="min-w-0 flex-1 truncate">{session.title || t("untitled")}</span>
              {session.parent && <span className="text-xs text-faint tabular-nums">{t("atEvent", { seq: session.parent[1] })}</span>}
            </a>
          </li>
        ))}
      </ul>
    </Group>
  );
}
