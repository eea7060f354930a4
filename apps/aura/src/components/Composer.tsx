// Where people write: send, queue, steer and stop. What was typed stays, also over a reload.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useQueuedTexts, useSeatName, useWheel } from "../hooks/session";
import { command, interrupt, send, wheel } from "../hooks/wiring";
import type { InputMode } from "../protocol";
import { useApp, type OpenSession } from "../store/app";
import { isBusy } from "../store/conversation";
import { useTexts } from "../texts";
import { Clock, Close, Send, Steer, Stop, Wheel } from "./icons";
import { Button, IconButton } from "./parts";

const MOST_HEIGHT = 240;

/** Asks the composer to take the focus. */
export const focusComposer = () => document.getElementById("message")?.focus();

export function Composer({ open }: { open: OpenSession }) {
  const t = useTexts();
  const [draft, setDraft] = useDraft(open.id);
  const box = useRef<HTMLTextAreaElement>(null);
  const isRunning = isBusy(open.now);
  const { isMine, isFree, isOwnElsewhere, mayDrive } = useWheel(open);
  const isBlocked = !mayDrive || (!isMine && !isFree);
  const isOffline = useApp((state) => state.connection !== "online");

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, MOST_HEIGHT)}px`;
  }, [draft]);

  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [open.id]);

  const submit = (mode: InputMode) => {
    const words = draft.trim();
    if (words === "" || (isBlocked && open.role !== null)) return;
    send(open.id, words, mode);
    setDraft("");
  };

  const pressed = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      submit("queue");
    } else if (event.key === "s" && event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      submit("steer");
    } else if (event.key === "Escape" && isRunning) {
      event.preventDefault();
      void interrupt(open.id);
    }
  };

  return (
    <div className="space-y-2">
      <Waiting open={open} />
      {isBlocked && open.role !== null && open.wheel !== null ? (
        <ElsewhereDriven open={open} mayTake={isOwnElsewhere} />
      ) : (
        <div className="rounded-xl border border-line-strong bg-raised shadow-low transition-colors focus-within:border-accent">
          <textarea
            ref={box}
            id="message"
            rows={1}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={pressed}
            placeholder={t(isRunning ? "messageBusy" : "messageAgent")}
            aria-label={t("message")}
            className="block max-h-60 w-full resize-none bg-transparent px-4 pt-3 pb-1 outline-none placeholder:text-faint"
          />
          <div className="flex h-12 items-center gap-1.5 px-2 pb-1">
            <span className="hidden pl-2 text-xs text-faint sm:block">{t("newLineHint")}</span>
            <span className="flex-1" />
            {isRunning && draft.trim() !== "" && (
              <Button look="quiet" className="h-8 px-2.5" title={`${t("steerHint")} (Ctrl+S)`} onClick={() => submit("steer")}>
                <Steer size={16} /> {t("steer")}
              </Button>
            )}
            {isRunning && (
              <Button look="plain" className="h-8 px-2.5" title="Esc" onClick={() => void interrupt(open.id)} disabled={isOffline}>
                <Stop size={16} /> {t("stop")}
              </Button>
            )}
            <button
              type="button"
              aria-label={t(isRunning ? "queue" : "send")}
              title={t(isRunning ? "queue" : "send")}
              disabled={draft.trim() === ""}
              onClick={() => submit("queue")}
              className="inline-flex size-8 items-center justify-center rounded-md bg-accent text-on-accent transition-colors hover:brightness-110 disabled:bg-sunk disabled:text-faint"
            >
              <Send size={18} />
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

function useDraft(session: string): [string, (draft: string) => void] {
  const key = `aura.draft.${session}`;
  const [draft, setDraft] = useState(() => sessionStorage.getItem(key) ?? "");
  useEffect(() => setDraft(sessionStorage.getItem(key) ?? ""), [key]);
  const keep = (next: string) => {
    setDraft(next);
    if (next === "") sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, next);
  };
  return [draft, keep];
}

/** Inputs that wait: queued at the server, or not sent yet. */
function Waiting({ open }: { open: OpenSession }) {
  const t = useTexts();
  const unsent = useApp((state) => state.unsent);
  const here = unsent.filter((input) => input.session === open.id);
  const { queued } = open.now;
  const texts = useQueuedTexts(open.id, queued.map((input) => input.id).join(" "));
  if (here.length === 0 && queued.length === 0) return null;
  return (
    <ul className="space-y-1.5" aria-label={t("queued")}>
      {queued.map((input) => (
        <li key={input.id} className="flex min-h-10 items-center gap-2 rounded-lg bg-sunk py-1 pr-1 pl-3 text-sm">
          <span className="text-xs whitespace-nowrap text-faint">{t(input.mode === "steer" ? "steer" : "queued")}</span>
          <span className="min-w-0 flex-1 truncate">{texts[input.id] ?? "…"}</span>
          {input.mode !== "steer" && (
            <IconButton
              label={t("steer")}
              onClick={() => void command(open.id, "revise", { message_id: input.id, mode: "steer" })}
            >
              <Steer size={16} />
            </IconButton>
          )}
          <IconButton label={t("takeBack")} onClick={() => void command(open.id, "revise", { message_id: input.id })}>
            <Close size={16} />
          </IconButton>
        </li>
      ))}
      {here.map((input) => (
        <li key={input.key} className="flex min-h-10 items-center gap-2 rounded-lg border border-dashed border-line-strong px-3 py-1 text-sm text-soft">
          <Clock size={15} className="text-faint" />
          <span className="min-w-0 flex-1 truncate">{input.text}</span>
          <span className="text-xs whitespace-nowrap text-faint">{t("notSent")}</span>
        </li>
      ))}
    </ul>
  );
}

function ElsewhereDriven({ open, mayTake }: { open: OpenSession; mayTake: boolean }) {
  const t = useTexts();
  const name = useSeatName();
  const { seat, asked, mayDrive } = useWheel(open);
  const client = useApp((state) => state.client);
  const isAsking = asked?.client === client;
  if (!mayDrive) {
    return <p className="rounded-xl border border-line px-4 py-3 text-sm text-soft">{t(open.role === "approve" ? "mayOnlyApprove" : "mayOnlyWatch")}</p>;
  }
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-xl border border-line bg-raised px-4 py-3 text-sm">
      <Wheel size={18} className="text-faint" />
      <span className="min-w-0 flex-1 text-soft">{!seat
          ? t("nobodyDrives")
          : mayTake
            ? t("youDriveFrom", { client: seat.client })
            : t("elsewhereDrives", { who: name(seat) })}</span>
      {mayTake ? (
        <Button look="main" onClick={() => void wheel(open.id, "take")}>
          {t("takeControl")}
        </Button>
      ) : (
        <Button disabled={isAsking} onClick={() => void wheel(open.id, "ask")}>
          {t(isAsking ? "controlAsked" : "askControl")}
        </Button>
      )}
    </div>
  );
}
