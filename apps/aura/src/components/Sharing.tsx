// Who else may see a session, and what they may do; its owner gives and takes roles here.
import { useState } from "react";
import { command } from "../hooks/wiring";
import { useApp, type OpenSession } from "../store/app";
import { useTexts } from "../texts";
import { Close } from "./icons";
import { Button, FIELD, Group, IconButton } from "./parts";

const ROLES = ["watch", "approve", "drive"] as const;
type GivenRole = (typeof ROLES)[number];
/** Everybody who is admitted without a key; they may only watch. */
const VISITORS = "own_visitors";

export function Sharing({ open, roles, again }: { open: OpenSession; roles: Record<string, unknown>; again: () => void }) {
  const t = useTexts();
  const [person, setPerson] = useState("");
  const [role, setRole] = useState<GivenRole>("watch");
  const isOnline = useApp((app) => app.connection === "online");
  const given = Object.entries(roles).map(([who, what]) => [who, String(what)] as const);
  const mayShare = open.role === "own" && isOnline;
  if (!mayShare && given.length === 0) return null;
  const give = async (who: string, what: string | null) => {
    await command(open.id, "share", { person: who, ...(what ? { role: what } : {}) });
    again();
  };
  return (
    <Group label={t("sharing")}>
      {given.length === 0 && <p className="text-sm text-soft">{t("notShared")}</p>}
      <ul>
        {given.map(([who, what]) => (
          <li key={who} className="flex min-h-9 items-center gap-2 text-sm">
            <span className={`min-w-0 flex-1 truncate ${who === VISITORS ? "" : "font-mono text-xs"}`}>
              {who === VISITORS ? t("visitors") : who}
            </span>
            <span className="text-xs text-faint">{ROLES.includes(what as GivenRole) ? t(`role_${what as GivenRole}`) : what}</span>
            {mayShare && (
              <IconButton label={t("takeRole")} onClick={() => void give(who, null)}>
                <Close size={15} />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
      {mayShare && (
        <form
          className="space-y-2"
          onSubmit={(event) => {
            event.preventDefault();
            void give(person.trim(), person.trim() === VISITORS ? "watch" : role).then(() => setPerson(""));
          }}
        >
          <input
            className={`${FIELD} w-full`}
            value={person}
            onChange={(event) => setPerson(event.target.value)}
            placeholder="own_…"
            aria-label={t("personId")}
            autoComplete="off"
            spellCheck={false}
          />
          <div className="flex gap-2">
            <select
              className={`${FIELD} flex-1`}
              aria-label={t("role")}
              value={role}
              onChange={(event) => setRole(event.target.value as GivenRole)}
            >
              {ROLES.map((one) => (
                <option key={one} value={one}>
                  {t(`role_${one}`)}
                </option>
              ))}
            </select>
            <Button type="submit" disabled={!/^own_\w+$/.test(person.trim())}>
              {t("share")}
            </Button>
          </div>
          <p className="text-xs text-faint">{t("shareHint")}</p>
        </form>
      )}
    </Group>
  );
}
