// The exact request that the model got at a place of the session, and what fills its window.
import { useMemo, useState } from "react";
import { useAnswer } from "../hooks/answer";
import type { ContextView } from "../connection/http";
import type { OpenSession } from "../store/app";
import { useTexts, type TextKey } from "../texts";
import { Lines } from "./CallCard";
import { sentRequest, type SentMessage } from "./context";
import { tokens } from "./format";
import { Chevron } from "./icons";
import { Bone, CopyButton, Failed, Label } from "./parts";

export function Context({ open }: { open: OpenSession }) {
  const t = useTexts();
  const at_seq = open.at === null ? undefined : open.shown.seq;
  const path = `/v1/sessions/${open.id}/context`;
  // A live session asks when its place in the conversation changes, and not with each word.
  const step = open.at === null ? open.now.modelCalls + open.now.queued.length : 0;
  const { value, error, again } = useAnswer<ContextView>(path, { at_seq }, { isFast: true, step });
  if (!value && error) return <Page><Failed text={t("noContext")} why={error} again={again} /></Page>;
  if (!value) {
    return (
      <Page>
        <Bone className="h-5 w-2/5" />
        <Bone className="h-3 w-full" />
        <Bone className="h-40 w-full" />
      </Page>
    );
  }
  return (
    <Page>
      <p className="text-sm text-soft">{t("contextOf", { seq: value.seq, api: value.api })}</p>
      {value.fill && <Fill fill={value.fill} />}
      {(value.condensed ?? []).map((one) => (
        <Fold key={one.seq} name={t("summaryOf", { seq: one.seq })} text={one.summary} />
      ))}
      <Request body={value.body} />
    </Page>
  );
}

function Page({ children }: { children: React.ReactNode }) {
  const t = useTexts();
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0}>
      <h2 className="sr-only">{t("view_context")}</h2>
      <div className="mx-auto max-w-[46rem] space-y-5 px-4 py-6 sm:px-6">{children}</div>
    </div>
  );
}

type WindowFill = NonNullable<ContextView["fill"]>;

/** The shades of the parts of a window, from the one that changes least to the one that changes most. */
const SHADES = ["100%", "84%", "70%", "58%", "46%", "36%", "28%", "20%"];

function Fill({ fill }: { fill: WindowFill }) {
  const t = useTexts();
  const shares = fill.shares.filter((share) => share.tokens > 0);
  const most = Math.max(fill.window, fill.in_use, 1);
  const shade = (at: number) => ({ "--shade": SHADES[at % SHADES.length] }) as React.CSSProperties;
  return (
    <section aria-label={t("window")}>
      <div className="flex items-baseline justify-between gap-3 text-sm">
        <Label>{t("window")}</Label>
        <span className="text-xs text-faint tabular-nums">
          {t("windowUse", { used: tokens(fill.in_use), whole: tokens(fill.window) })}
        </span>
      </div>
      <div className="mt-2 flex h-2.5 gap-px overflow-hidden rounded-full bg-sunk" aria-hidden="true">
        {shares.map((share, at) => (
          <span key={share.kind} className="share" style={{ ...shade(at), width: `${(100 * share.tokens) / most}%` }} />
        ))}
      </div>
      <ul className="mt-3 grid gap-x-6 gap-y-1 sm:grid-cols-2">
        {shares.map((share, at) => (
          <li key={share.kind} className="flex items-center gap-2 text-sm">
            <span className="share size-2.5 rounded-full" style={shade(at)} />
            <span className="min-w-0 flex-1 truncate">{t(`w_${share.kind}` as TextKey)}</span>
            <span className="text-xs text-faint tabular-nums">
              {share.count > 1 && `${share.count} × · `}
              {tokens(share.tokens)}
            </span>
          </li>
        ))}
      </ul>
      {fill.left_out ? <p className="mt-2 text-sm text-warn">{t("leftOut", { count: fill.left_out })}</p> : null}
    </section>
  );
}

function Request({ body }: { body: string }) {
  const t = useTexts();
  const request = useMemo(() => sentRequest(body), [body]);
  const raw = useMemo(() => pretty(body), [body]);
  return (
    <section className="space-y-2" aria-label={t("request")}>
      <div className="flex h-8 items-center justify-between">
        <Label>{t("request")}</Label>
        <CopyButton text={raw} className="-mr-2" />
      </div>
      {request && (
        <>
          {request.system !== "" && <Fold name={t("w_system_prompt")} text={request.system} />}
          {request.tools.length > 0 && (
            <Fold name={`${t("w_tools")} (${request.tools.length})`} text={request.tools.join("\n")} />
          )}
          {request.messages.map((message, at) => (
            <Message key={at} message={message} isOpen={at >= request.messages.length - 2} />
          ))}
        </>
      )}
      <Fold name="JSON" text={raw} />
    </section>
  );
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function Message({ message, isOpen }: { message: SentMessage; isOpen: boolean }) {
  return <Fold name={message.role} text={message.text} isOpen={isOpen} />;
}

/** A text under its name, which opens and closes it. */
function Fold({ name, text, isOpen = false }: { name: string; text: string; isOpen?: boolean }) {
  const [isShown, setShown] = useState(isOpen);
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-raised">
      <button
        type="button"
        aria-expanded={isShown}
        onClick={() => setShown(!isShown)}
        className="flex min-h-10 w-full items-center gap-3 px-3 text-left text-sm hover:bg-sunk"
      >
        <span className="shrink-0 font-medium">{name}</span>
        <span className="min-w-0 flex-1 truncate text-xs text-faint">{isShown ? "" : text.slice(0, 200)}</span>
        <Chevron size={14} className={`text-faint transition-transform ${isShown ? "rotate-90" : ""}`} />
      </button>
      {isShown && (
        <div className="border-t border-line px-3 py-2.5">
          <Lines text={text} fromEnd={false} />
        </div>
      )}
    </div>
  );
}
