// Messages while the page is closed, as components and the wiring use them.
import { useEffect, useState } from "react";
import { closeMessages, pushState, renew, turnOff, turnOn, type PushState } from "../connection/push";
import { useApp } from "../store/app";
import { text } from "../texts";
import { attempt, http } from "./wiring";

const pushWords = () => ({ title: text("pushTitle"), body: text("pushBody") });

/** Returns how messages stand in this browser, and what turns them on and off. */
export function usePush() {
  const [state, setState] = useState<PushState | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isOnline = useApp((app) => app.connection === "online");
  useEffect(() => {
    if (!isOnline) return;
    let isCurrent = true;
    void pushState(http())
      .then((found) => isCurrent && setState(found))
      .catch(() => isCurrent && setState("off"));
    return () => {
      isCurrent = false;
    };
  }, [isOnline]);
  const change = async (what: () => Promise<PushState>) => {
    setBusy(true);
    const next = await attempt(what);
    setBusy(false);
    if (next) setState(next);
  };
  return {
    state,
    isBusy,
    turnOn: () => void change(() => turnOn(http(), pushWords())),
    turnOff: () => void change(() => turnOff(http())),
  };
}

/** Keeps the subscription of this browser, its words and its messages right while the page is open. */
export function followPush(): void {
  let before = { isOnline: false, language: "", open: "" };
  useApp.subscribe(({ connection, language, open }) => {
    const now = { isOnline: connection === "online", language, open: open?.isCaughtUp ? open.id : "" };
    const isNew = now.isOnline && (!before.isOnline || now.language !== before.language);
    const isOpened = now.open !== "" && now.open !== before.open;
    before = now;
    if (isNew) void renew(http(), pushWords()).catch(() => undefined);
    if (isOpened) void closeMessages(now.open).catch(() => undefined);
  });
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.addEventListener("message", ({ data }: MessageEvent<{ open?: unknown }>) => {
    const place = data?.open;
    if (typeof place === "string" && /^\/#\/ses_[\w-]+$/.test(place)) location.hash = place.slice(1);
  });
}
