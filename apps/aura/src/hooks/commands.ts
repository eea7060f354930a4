// Everything that a person can do, as commands with names: for the palette and for keys.
import { useMemo } from "react";
import { LANGUAGES, NAMES } from "../texts/table";
import { moveTo, set, showSettings, useApp } from "../store/app";
import { isBusy } from "../store/conversation";
import { useTexts } from "../texts";
import { setLanguage, setTheme } from "./settings";
import { create, go, interrupt, signOut, wheel } from "./wiring";

export interface PageCommand {
  id: string;
  name: string;
  hint?: string;
  run: () => void;
}

export function useCommands(): PageCommand[] {
  const t = useTexts();
  const open = useApp((state) => state.open);
  const sessions = useApp((state) => state.sessions);
  const isRunning = open !== null && isBusy(open.now);
  const id = open?.id ?? null;
  return useMemo(() => {
    const commands: PageCommand[] = [{ id: "new", name: t("newSession"), hint: "Alt N", run: () => void create() }];
    if (id && isRunning) commands.push({ id: "stop", name: t("stop"), hint: "Esc", run: () => void interrupt(id) });
    if (id) {
      commands.push(
        { id: "take", name: t("takeControl"), run: () => void wheel(id, "take") },
        { id: "release", name: t("releaseControl"), run: () => void wheel(id, "release") },
        { id: "details", name: t("details"), run: () => set({ panel: "details" }) },
        { id: "now", name: t("backToNow"), run: () => moveTo(null) },
      );
    }
    for (const theme of ["system", "light", "dark"] as const) {
      commands.push({ id: `theme-${theme}`, name: `${t("theme")}: ${t(`theme_${theme}`)}`, run: () => setTheme(theme) });
    }
    for (const language of LANGUAGES) {
      commands.push({ id: language, name: `${t("language")}: ${NAMES[language]}`, run: () => setLanguage(language) });
    }
    commands.push(
      { id: "settings", name: t("settings"), run: () => showSettings("you") },
      { id: "device", name: t("otherDevice"), run: () => showSettings("browsers") },
      { id: "push", name: t("push"), run: () => showSettings("browsers") },
      { id: "memory", name: t("set_memory"), run: () => showSettings("memory") },
      { id: "usage", name: t("usage"), run: () => showSettings("usage") },
      { id: "keys", name: t("keys"), hint: "?", run: () => showSettings("keys") },
      { id: "out", name: t("signOut"), run: () => void signOut() },
    );
    for (const session of sessions ?? []) {
      commands.push({
        id: session.session_id,
        name: session.title || t("untitled"),
        hint: t("session"),
        run: () => go(session.session_id),
      });
    }
    return commands;
  }, [t, id, isRunning, sessions]);
}
