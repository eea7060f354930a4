// What stands where no conversation is: signing in, beginning, loading, offline, and what went wrong.
import { useRef, useState } from "react";
import { create, go, hurry, restart, send, signIn } from "../hooks/wiring";
import { useSecondsUntil } from "../hooks/session";
import { set, useApp, type OpenSession } from "../store/app";
import { useTexts } from "../texts";
import { Logo, Menu, Send, Warning } from "./icons";
import { Bone, Button, IconButton } from "./parts";

export function SignIn() {
  const t = useTexts();
  const error = useApp((state) => state.loginError);
  const [words, setWords] = useState("");
  const submit = async () => {
    const code = /code=([\w-]+)/.exec(words)?.[1] ?? words.trim();
    await signIn(code);
    if (useApp.getState().loginError === null) restart();
  };
  return (
    <main className="flex h-full items-center justify-center p-6">
      <div className="w-full max-w-md">
        <Logo size={48} />
        <h1 className="mt-6 text-xl font-semibold tracking-tight">{t("signInTitle")}</h1>
        <p className="mt-2 text-soft">{t("signInHint")}</p>
        <pre className="mt-5 rounded-lg border border-line bg-raised px-4 py-3 font-mono text-sm">agentx serve --open</pre>
        <form
          className="mt-5 flex gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <input
            value={words}
            onChange={(event) => setWords(event.target.value)}
            placeholder={t("codeLabel")}
            aria-label={t("codeLabel")}
            autoComplete="off"
            className="h-10 min-w-0 flex-1 rounded-md border border-line-strong bg-raised px-3 text-sm placeholder:text-faint"
          />
          <Button type="submit" look="main" className="h-10" disabled={words.trim() === ""}>
            {t("signIn")}
          </Button>
        </form>
        {error && (
          <p role="alert" className="mt-4 flex gap-2 text-sm text-bad">
            <Warning size={16} className="mt-0.5" />
            {t("signInFailed", { why: error })}
          </p>
        )}
      </div>
    </main>
  );
}

/** No session is open: the first message makes one. */
export function Start() {
  const t = useTexts();
  const [draft, setDraft] = useState("");
  const isMaking = useRef(false);
  const isOnline = useApp((state) => state.connection === "online");
  const begin = async () => {
    const words = draft.trim();
    if (words === "" || !isOnline || isMaking.current) return;
    isMaking.current = true;
    const session = await create();
    isMaking.current = false;
    if (session) send(session, words, "queue");
  };
  return (
    <div className="flex h-full flex-col">
      <div className="flex h-14 items-center px-2 lg:hidden">
        <IconButton label={t("sessions")} onClick={() => set({ panel: "sessions" })}>
          <Menu />
        </IconButton>
      </div>
      <div className="flex flex-1 items-center justify-center px-4 pb-[18vh] sm:px-6">
        <div className="w-full max-w-[40rem]">
          <h1 className="text-xl font-semibold tracking-tight">{t("welcome")}</h1>
          <p className="mt-2 text-soft">{t("welcomeHint")}</p>
          <form
            className="mt-6 rounded-xl border border-line-strong bg-raised shadow-low focus-within:border-accent"
            onSubmit={(event) => {
              event.preventDefault();
              void begin();
            }}
          >
            <textarea
              id="message"
              autoFocus
              rows={3}
              value={draft}
              onChange={(event) => setDraft(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
                event.preventDefault();
                void begin();
              }}
              placeholder={t("messageAgent")}
              aria-label={t("message")}
              className="block w-full resize-none bg-transparent px-4 pt-3.5 outline-none placeholder:text-faint"
            />
            <div className="flex h-12 items-center justify-between px-2 pl-4">
              <span className="text-xs text-faint">{t("newLineHint")}</span>
              <button
                type="submit"
                aria-label={t("send")}
                disabled={draft.trim() === "" || !isOnline}
                className="inline-flex size-8 items-center justify-center rounded-md bg-accent text-on-accent hover:brightness-110 disabled:bg-sunk disabled:text-faint"
              >
                <Send />
              </button>
            </div>
          </form>
        </div>
      </div>
    </div>
  );
}

export function LoadingSession() {
  const t = useTexts();
  return (
    <div role="status" aria-label={t("loading")} className="mx-auto w-full max-w-[46rem] flex-1 space-y-8 px-6 pt-10">
      <Bone className="ml-auto h-11 w-2/5" />
      <div className="space-y-3">
        <Bone className="h-3.5 w-full" />
        <Bone className="h-3.5 w-11/12" />
        <Bone className="h-3.5 w-3/5" />
      </div>
      <Bone className="h-11 w-full" />
    </div>
  );
}

/** An empty session, before its first message. */
export function EmptySession() {
  const t = useTexts();
  return (
    <div className="flex flex-1 items-center justify-center px-6">
      <div className="max-w-md text-center">
        <h2 className="text-xl font-semibold tracking-tight">{t("welcome")}</h2>
        <p className="mt-2 text-soft">{t("welcomeHint")}</p>
      </div>
    </div>
  );
}

export function GoneSession({ open }: { open: OpenSession }) {
  const t = useTexts();
  return (
    <div className="flex flex-1 items-center justify-center px-6">
      <div className="max-w-md text-center">
        <Warning size={28} className="mx-auto text-warn" />
        <h2 className="mt-3 text-lg font-semibold">{t("sessionGone")}</h2>
        <p className="mt-1 text-soft">{open.problem?.detail}</p>
        <Button className="mt-5" onClick={() => go(null)}>
          {t("sessions")}
        </Button>
      </div>
    </div>
  );
}

/** The server is away. */
export function OfflineBar() {
  const t = useTexts();
  const connection = useApp((state) => state.connection);
  const retryAt = useApp((state) => state.retryAt);
  const isInSession = useApp((state) => state.open !== null);
  const seconds = useSecondsUntil(connection === "offline" ? retryAt : null);
  if (connection !== "offline") return null;
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-1 bg-warn-soft px-4 py-2 text-sm text-warn">
      <span className="font-semibold">{t("offline")}</span>
      <span className="min-w-0 flex-1 max-sm:order-last max-sm:basis-full max-sm:text-xs">{t(isInSession ? "offlineHint" : "offlineStart")}</span>
      <button type="button" onClick={hurry} className="font-medium tabular-nums underline underline-offset-4 max-sm:ml-auto">
        {t("retryNow")}
        {seconds ? ` (${seconds} s)` : ""}
      </button>
    </div>
  );
}
