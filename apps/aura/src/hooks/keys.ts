// Keys that work everywhere. Those of a place, such as the message, are where the place is.
import { useEffect } from "react";
import { get, set, showSettings } from "../store/app";
import { create, go, hurry } from "./wiring";

/** The keys of the page, in the order of the help: what to press, and the text that says what it does. */
export const KEYS = [
  ["Ctrl K", "key_palette"],
  ["Alt N", "newSession"],
  ["Alt ↑ / Alt ↓", "key_sessions"],
  ["j / k", "key_entries"],
  ["g / G", "key_ends"],
  ["/", "key_message"],
  ["Enter", "send"],
  ["Shift Enter", "key_line"],
  ["Ctrl S", "steer"],
  ["Esc", "stop"],
  ["Alt Y / S / A / N", "key_answers"],
  ["?", "key_help"],
] as const;

export function useKeys(): void {
  useEffect(() => {
    addEventListener("keydown", pressed);
    addEventListener("focus", hurry);
    return () => {
      removeEventListener("keydown", pressed);
      removeEventListener("focus", hurry);
    };
  }, []);
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  if (withModifier(event) || (isTyping(event) ? false : alone(event))) event.preventDefault();
}

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Does what a key with Ctrl or Alt stands for. Returns whether there is such a key. */
function withModifier(event: KeyboardEvent): boolean {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    set((state) => ({ panel: state.panel === "palette" ? "none" : "palette" }));
    return true;
  }
  if (!event.altKey || get().panel !== "none") return false;
  // Alt-N answers a question, if there is one.
  if (event.code === "KeyN" && !get().open?.now.questions.length) {
    void create();
    return true;
  }
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    beside(event.key === "ArrowDown" ? 1 : -1);
    return true;
  }
  return false;
}

function alone(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || get().panel !== "none") return false;
  switch (event.key) {
    case "/":
      document.getElementById("message")?.focus();
      return true;
    case "?":
      showSettings("keys");
      return true;
    case "j":
    case "k":
      return step(event.key === "j" ? 1 : -1);
    case "g":
    case "G": {
      const box = document.getElementById("transcript");
      box?.scrollTo({ top: event.key === "g" ? 0 : box.scrollHeight });
      return box !== null;
    }
    default:
      return false;
  }
}

/** Opens the session above or below the open one in the list. */
function beside(step: number): void {
  const { sessions, open } = get();
  const at = sessions?.findIndex((one) => one.session_id === open?.id) ?? -1;
  const next = sessions?.[at < 0 ? 0 : at + step];
  if (next) go(next.session_id);
}

/** Moves to the entry after or before the one that is at the top of what is seen. */
function step(by: number): boolean {
  const box = document.getElementById("transcript");
  if (!box) return false;
  const entries = [...box.querySelectorAll<HTMLElement>("article")];
  const top = box.getBoundingClientRect().top + 24;
  const focused = entries.indexOf(document.activeElement as HTMLElement);
  const seen = entries.findIndex((entry) => entry.getBoundingClientRect().bottom > top);
  const next = entries[focused >= 0 ? focused + by : by > 0 ? seen : seen - 1];
  if (!next) return true;
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
  return true;
}
